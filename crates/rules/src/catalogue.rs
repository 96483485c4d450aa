use crate::context::{Context, Outcome};

/// One rule. Its documentation is the doc comment of its file.
pub struct Rule {
    /// Stable id, never reused.
    pub id: &'static str,
    /// What it finds, in one line.
    pub title: &'static str,
    /// The text of its own source file, for [`Rule::documentation`].
    pub source: &'static str,
    /// Looks at the facts and adds to the outcome.
    pub check: fn(&Context<'_>, &mut Outcome),
}

impl Rule {
    /// The rule's documentation in Markdown: the `//!` lines at the top of its file.
    pub fn documentation(&self) -> String {
        let lines = self
            .source
            .lines()
            .take_while(|line| line.starts_with("//!"));
        let mut text = String::new();
        for line in lines {
            let line = &line[3..];
            text.push_str(line.strip_prefix(' ').unwrap_or(line));
            text.push('\n');
        }
        text
    }
}

/// Every rule, sorted by id.
static RULES: &[Rule] = &[];

/// Every rule, sorted by id.
pub fn all() -> &'static [Rule] {
    RULES
}

/// The rule with this id, in any case.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}
