use super::args::Rule;
use crate::error::{CommandError, Kind};
use crate::output;
use std::fmt::Write;
use std::process::ExitCode;

/// Lists the rules, or prints the documentation of one or of all.
///
/// # Errors
/// When there is no rule of that id.
pub fn run(arguments: &Rule) -> Result<ExitCode, CommandError> {
    let mut text = String::new();
    if let Some(id) = &arguments.id {
        let rule = rules::find(id).ok_or_else(|| {
            CommandError::new(Kind::Usage, format!("there is no rule {id:?}"))
                .hint("`trimtab rule` lists them all")
        })?;
        text = rule.documentation();
    } else if arguments.all {
        text.push_str(
            "# Rules\n\nMade by `make docs` from the rules' own doc comments: do not edit.\n\n",
        );
        for rule in rules::all() {
            let _ = writeln!(
                text,
                "- [{}](#{}) {}",
                rule.id,
                anchor(&rule.documentation()),
                rule.title
            );
        }
        for rule in rules::all() {
            let _ = write!(text, "\n{}", deeper(&rule.documentation()));
        }
    } else {
        for rule in rules::all() {
            let _ = writeln!(text, "{:<9} {}", rule.id, rule.title);
        }
        text.push_str("\n`trimtab rule ID` explains one.\n");
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Headings one level deeper, for a page that holds all rules. Lines in fenced code stay.
fn deeper(markdown: &str) -> String {
    let mut fenced = false;
    let mut text = String::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if line.starts_with('#') && !fenced {
            text.push('#');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The anchor that Markdown renderers give the page's first heading.
fn anchor(markdown: &str) -> String {
    let heading = markdown
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches('#')
        .trim();
    heading
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_comments() {
        assert_eq!(deeper("# A\n```\n# b\n```\n"), "## A\n```\n# b\n```\n");
    }

    #[test]
    fn anchors_are_those_of_the_renderers() {
        assert_eq!(anchor("# FS001: Btrfs, and more\n"), "fs001-btrfs-and-more");
    }
}
