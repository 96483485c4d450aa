//! What is planned for a filesystem, and what became of it.

use rules::TrimVerdict;
use rules::shell::quote;
use trim::filesystem::Filesystem;
use trim::forecast::Forecast;
use trim::request::Request;
use trim::resume::CommandLine;
use trim::summary::PassSummary;

/// What is planned for one filesystem.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Which.
    pub filesystem: &'a Filesystem<'a>,
    /// Whether it may be trimmed.
    pub verdict: &'a TrimVerdict,
    /// What a pass would do.
    pub forecast: &'a Forecast<'a>,
    /// What is asked for.
    pub request: &'a Request,
}

/// What became of one filesystem that was to be trimmed.
#[derive(Debug, Clone)]
pub enum PassEnd {
    /// A pass ran.
    Ended {
        /// What it did.
        summary: Box<PassSummary>,
        /// The command that resumes it.
        resume: CommandLine,
    },
    /// No pass began.
    NotBegun {
        /// Where the filesystem is mounted.
        mount_point: String,
        /// Why not.
        reason: String,
        /// Ways out, one sentence each.
        hints: Vec<String>,
    },
}

impl PassEnd {
    /// Where the filesystem is mounted.
    pub fn mount_point(&self) -> &str {
        match self {
            Self::Ended { summary, .. } => &summary.mount_point,
            Self::NotBegun { mount_point, .. } => mount_point,
        }
    }
}

/// The option that a pass still needs before it may begin; `None` where none is missing.
pub fn missing_consent(filesystem: &Filesystem<'_>, request: &Request) -> Option<String> {
    request.lacks_consent(filesystem).then(|| {
        format!(
            "{} runs on {}: add --window 01:00-05:00 (its quiet hours) or --now",
            store_names(filesystem),
            units::escape(filesystem.mount_point())
        )
    })
}

/// Kinds of stores on a filesystem.
pub(crate) fn store_names(filesystem: &Filesystem<'_>) -> String {
    filesystem.store_labels().join(", ")
}

/// A command that can be pasted into a shell, with a word on what it lacks:
/// `` `trimtab trim --now /data`, with its --probe ``.
pub fn command_text(command: &CommandLine) -> String {
    let words: Vec<String> = command.words.iter().map(|word| quote(word)).collect();
    let lacks = if command.lacks_options {
        ", with the options of the first call".to_owned()
    } else if command.omitted.is_empty() {
        String::new()
    } else {
        format!(", with its {}", command.omitted.join(" and "))
    };
    format!("`{}`{lacks}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted_and_say_what_they_lack() {
        let mut command = CommandLine {
            words: ["trimtab", "trim", "--now", "/my data\n"]
                .map(str::to_owned)
                .to_vec(),
            omitted: Vec::new(),
            lacks_options: false,
        };
        assert_eq!(
            command_text(&command),
            "`trimtab trim --now $'/my data\\x0a'`"
        );
        command.omitted = vec!["--probe", "--require-green"];
        assert!(command_text(&command).ends_with("`, with its --probe and --require-green"));
        command.lacks_options = true;
        assert!(command_text(&command).ends_with("`, with the options of the first call"));
    }
}
