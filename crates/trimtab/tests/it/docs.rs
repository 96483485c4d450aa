//! The documentation matches the program.

use crate::support::{repository, run, stderr, stdout, trimtab};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

#[test]
fn the_rule_catalogue_is_up_to_date() {
    let generated = stdout(&run(&["rule", "--all"]));
    let committed =
        std::fs::read_to_string(repository().join("docs/rules.md")).expect("docs/rules.md");
    assert!(
        generated == committed,
        "docs/rules.md is out of date: run `make docs`"
    );
}

#[test]
fn every_rule_explains_itself() {
    let list = stdout(&run(&["rule"]));
    let ids: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.ends_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert!(ids.len() >= 20, "{ids:?}");
    for id in ids {
        let text = stdout(&run(&["rule", &id.to_lowercase()]));
        assert!(text.starts_with(&format!("{id}: ")), "{id}: {text}");
    }
}

#[test]
fn check_md_lists_all_rules() {
    let list = stdout(&run(&["rule"]));
    let rules = list.split("\n\n").next().unwrap();
    assert!(
        read_document("docs/check.md").contains(rules),
        "docs/check.md and `trimtab rule` list different rules"
    );
}

#[test]
fn the_readme_is_short() {
    let lines = read_document("README.md").lines().count();
    assert!(lines < 150, "README.md has {lines} lines");
}

#[test]
fn links_point_to_existing_files_and_headings() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read_document(&document);
        for target in links(&text) {
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let directory = Path::new(&document).parent().expect("a directory");
            let file = match path {
                "" => repository().join(&document),
                path => repository().join(directory).join(path),
            };
            let is_there = file.exists()
                && (anchor.is_empty()
                    || std::fs::read_to_string(&file)
                        .is_ok_and(|text| anchors(&text).any(|one| one == anchor)));
            if !is_there {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Every command in README.md works when pasted into a fresh clone, unless it is marked `# needs`.
/// In docs/ this is checked for commands that read samples/ or lab/.
#[test]
fn documented_commands_print_what_is_shown() {
    let clone = tempfile::tempdir().expect("a directory");
    for name in ["samples", "lab"] {
        let target = repository().canonicalize().expect("repository").join(name);
        std::os::unix::fs::symlink(target, clone.path().join(name)).expect("a link");
    }
    let mut seen: BTreeMap<String, Output> = BTreeMap::new();
    let mut shown = 0;
    for document in documents() {
        for example in examples(&read_document(&document)) {
            let command = &example.command;
            let reads_the_repository = command.contains("samples/") || command.contains("lab/");
            if !command.starts_with("trimtab ")
                || command.contains("# needs ")
                || (document != "README.md" && !reads_the_repository)
            {
                continue;
            }
            let output = seen
                .entry(command.clone())
                .or_insert_with(|| run_in_shell(command, clone.path()));
            assert!(
                matches!(output.status.code(), Some(0 | 1)),
                "{document}: {command}: {}",
                stderr(output)
            );
            if let Err(lines) = example.match_output(&stdout(output)) {
                panic!("{document}: {command} does not print these lines at this point:\n{lines}");
            }
            shown += usize::from(!example.output.is_empty());
        }
    }
    assert!(shown >= 15, "only {shown} commands are shown with output");
}

/// A command in a `console` block, and the output shown below it.
struct Example {
    command: String,
    /// Output lines; `...` stands for omitted ones.
    output: Vec<String>,
}

impl Example {
    /// Checks that `printed` matches the shown output: all groups of lines in order, the first and
    /// last lines included unless `...` is there. The error is the group that does not match.
    fn match_output(&self, printed: &str) -> Result<(), String> {
        let trimmed = |line: &str| line.trim_end().to_owned();
        let printed: Vec<String> = printed.trim_end().lines().map(trimmed).collect();
        let groups: Vec<&[String]> = self.output.split(|line| line == "...").collect();
        let mut from = 0;
        for (number, group) in groups.iter().enumerate() {
            if group.is_empty() {
                continue;
            }
            let starts: Vec<usize> = if number == 0 {
                vec![0]
            } else {
                (from..printed.len()).collect()
            };
            let at = starts
                .into_iter()
                .find(|&at| printed[at..].starts_with(group))
                .ok_or_else(|| group.join("\n"))?;
            from = at + group.len();
            if number + 1 == groups.len() && from < printed.len() {
                return Err(format!(
                    "(followed by the end of the output)\n{}",
                    group.join("\n")
                ));
            }
        }
        Ok(())
    }
}

/// Returns the commands of all `console` blocks.
fn examples(document: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_console = false;
    let mut continues = false;
    for line in document.lines() {
        if line.starts_with("```") {
            is_console = !is_console && line == "```console";
            continue;
        }
        if !is_console {
            continue;
        }
        if let (true, Some(example)) = (continues, examples.last_mut()) {
            example.command.push('\n');
            example.command.push_str(line);
            continues = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            continues = line.ends_with('\\');
            examples.push(Example {
                command: command.to_owned(),
                output: Vec::new(),
            });
        } else if let Some(example) = examples.last_mut() {
            example.output.push(line.trim_end().to_owned());
        }
    }
    examples
}

/// Runs a command in a shell, with the binary in PATH.
fn run_in_shell(command: &str, directory: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_trimtab"));
    let mut path = binary.parent().expect("a directory").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(directory);
    for (name, value) in trimtab().get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.env("PATH", path).output().expect("sh starts")
}

/// Returns the repository paths of the documents checked here.
fn documents() -> Vec<String> {
    let mut documents: Vec<String> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "samples/README.md",
    ]
    .map(str::to_owned)
    .to_vec();
    for entry in std::fs::read_dir(repository().join("docs")).expect("docs") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") {
            documents.push(format!("docs/{name}"));
        }
    }
    documents.sort();
    documents
}

fn read_document(document: &str) -> String {
    std::fs::read_to_string(repository().join(document)).unwrap_or_else(|_| panic!("{document}"))
}

/// Returns the targets of Markdown links and images outside code blocks.
fn links(document: &str) -> Vec<&str> {
    let prose = document.split("```").step_by(2);
    prose
        .flat_map(|text| text.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
        .collect()
}

/// Returns the anchors that GitHub generates for headings.
fn anchors(document: &str) -> impl Iterator<Item = String> {
    document
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            heading
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
}
