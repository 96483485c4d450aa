//! The plan for a filesystem, and how its pass ended.

use rules::TrimVerdict;
use rules::shell::quote;
use trim::filesystem::Filesystem;
use trim::forecast::Forecast;
use trim::request::Request;
use trim::resume::CommandLine;
use trim::summary::PassSummary;

/// The plan for one filesystem.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The filesystem.
    pub filesystem: &'a Filesystem<'a>,
    /// Whether it may be trimmed.
    pub verdict: &'a TrimVerdict,
    /// Forecast of the pass.
    pub forecast: &'a Forecast<'a>,
    /// The user's request.
    pub request: &'a Request,
}

/// How the trim of one filesystem ended.
#[derive(Debug, Clone)]
pub enum PassEnd {
    /// A pass ran.
    Ended {
        /// Summary of the pass.
        summary: Box<PassSummary>,
        /// The command that resumes it.
        resume: CommandLine,
    },
    /// No pass began.
    NotBegun {
        /// Mount point of the filesystem.
        mount_point: String,
        /// Why not.
        reason: String,
        /// How to proceed, one sentence each.
        hints: Vec<String>,
    },
}

impl PassEnd {
    /// Returns the mount point of the filesystem.
    pub fn mount_point(&self) -> &str {
        match self {
            Self::Ended { summary, .. } => &summary.mount_point,
            Self::NotBegun { mount_point, .. } => mount_point,
        }
    }
}

/// Returns the option that a pass still needs before it may begin; `None` if none is missing.
pub fn missing_consent(filesystem: &Filesystem<'_>, request: &Request) -> Option<String> {
    request.lacks_consent(filesystem).then(|| {
        format!(
            "{} runs on {}: add --window 01:00-05:00 (its quiet hours) or --now",
            store_names(filesystem),
            units::escape(filesystem.mount_point())
        )
    })
}

/// Returns the engine names of the stores on a filesystem.
pub(crate) fn store_names(filesystem: &Filesystem<'_>) -> String {
    filesystem.store_labels().join(", ")
}

/// Formats a command that can be pasted into a shell, followed by the options it lacks:
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
    fn commands_can_be_pasted_and_name_missing_options() {
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
