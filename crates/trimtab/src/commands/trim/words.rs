//! Text for people: labelled rows that fit a terminal, and numbers in words.

use facts::Finding;
use report::{escape, human_bytes, human_duration, wrap};
use rules::shell::quote;
use std::time::Duration;
use trim::filesystem::Filesystem;
use trim::request::Request;
use trim::resume::CommandLine;

/// Where labels and texts start.
const LABEL: usize = 2;
const TEXT: usize = 14;

/// A page of labelled rows.
#[derive(Debug)]
pub struct Page {
    out: String,
    width: usize,
}

impl Page {
    /// An empty page.
    pub fn new(width: usize) -> Self {
        Self {
            out: String::new(),
            width: width.max(40),
        }
    }

    /// Columns that a row's text may take.
    pub fn room(&self) -> usize {
        self.width - TEXT
    }

    /// A line from the left edge, wrapped.
    pub fn head(&mut self, text: &str) {
        for (index, line) in wrap(text, self.width - LABEL).into_iter().enumerate() {
            if index > 0 {
                self.out.push_str("  ");
            }
            self.line(&line);
        }
    }

    /// A labelled text, wrapped.
    pub fn row(&mut self, label: &str, text: &str) {
        let lines = wrap(text, self.room());
        self.rows(label, &lines);
    }

    /// A labelled text in lines of its own.
    pub fn rows(&mut self, label: &str, lines: &[String]) {
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let head = format!("{:LABEL$}{label}", "");
            self.line(&format!("{head:TEXT$}{line}"));
        }
    }

    /// A finding: title, why, remedies with their commands.
    pub fn finding(&mut self, finding: &Finding) {
        self.row("because", &format!("{}: {}", finding.rule, finding.title));
        self.row("why", &finding.why);
        for (index, remedy) in finding.remedy.iter().enumerate() {
            self.row(if index == 0 { "remedy" } else { "or" }, &remedy.text);
            for line in remedy.command.iter().flat_map(|command| command.lines()) {
                // Commands are copied: never broken.
                self.rows("", &[format!("$ {}", escape(line))]);
            }
            if let Some(risk) = &remedy.risk {
                self.row("risk", risk);
            }
        }
    }

    /// A blank line between blocks.
    pub fn blank(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    /// What stands on it.
    pub fn finish(self) -> String {
        self.out
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}

/// A command that can be pasted into a shell, with a word on what it lacks:
/// `` `trimtab trim --now /data`, with its --probe ``.
pub fn command_text(command: &CommandLine) -> String {
    let words: Vec<String> = command.words.iter().map(|word| quote(word)).collect();
    let lacks = if command.lacks_options {
        ", with the options that it was begun with".to_owned()
    } else if command.omitted.is_empty() {
        String::new()
    } else {
        format!(", with its {}", command.omitted.join(" and "))
    };
    format!("`{}`{lacks}", words.join(" "))
}

/// The word that a pass still needs before it may begin; `None` where none is missing.
pub fn missing_consent(filesystem: &Filesystem<'_>, request: &Request) -> Option<String> {
    request.lacks_consent(filesystem).then(|| {
        format!(
            "{} runs on {}: add --window 01:00-05:00 (its quiet hours) or --now",
            store_names(filesystem),
            escape(filesystem.mount_point())
        )
    })
}

/// Kinds of stores on a filesystem.
pub fn store_names(filesystem: &Filesystem<'_>) -> String {
    escape(&filesystem.store_labels().join(", ")).into_owned()
}

/// A latency or a short stall: `0.42 ms`, `12 ms`, `1.3 s`.
pub fn short(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else if ms < 1000.0 {
        format!("{ms:.0} ms")
    } else if ms < 100_000.0 {
        format!("{:.1} s", ms / 1e3)
    } else {
        human_duration(duration.as_secs())
    }
}

/// A duration of a pass: to the tenth of a second while it is short.
pub fn long(duration: Duration) -> String {
    if duration < Duration::from_mins(1) {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        human_duration(duration.as_secs())
    }
}

/// A rate in bytes a second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // rates are neither negative nor huge
pub fn rate(bytes_per_s: f64) -> String {
    format!("{}/s", human_bytes(bytes_per_s.max(0.0) as u64))
}

/// A share in whole percent, cut: 100 only when all is done.
pub fn percent(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    let share = u128::from(part) * 100 / u128::from(whole);
    u64::try_from(share.min(100)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        assert_eq!(short(Duration::from_micros(420)), "0.42 ms");
        assert_eq!(short(Duration::from_millis(56)), "56 ms");
        assert_eq!(short(Duration::from_millis(4200)), "4.2 s");
        assert_eq!(short(Duration::from_mins(10)), "10 min");
        assert_eq!(long(Duration::from_millis(2230)), "2.2 s");
        assert_eq!(long(Duration::from_secs(90)), "1 min 30 s");
        assert_eq!(rate(1.5 * 1024.0 * 1024.0), "1.5 MiB/s");
        assert_eq!(rate(-1.0), "0 B/s");
    }

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
        assert!(command_text(&command).ends_with("`, with the options that it was begun with"));
    }

    #[test]
    fn only_all_is_a_hundred_percent() {
        assert_eq!(percent(999, 1000), 99);
        assert_eq!(percent(1000, 1000), 100);
        assert_eq!(percent(2000, 1000), 100);
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }

    #[test]
    fn rows_fit_the_page() {
        let mut page = Page::new(40);
        page.head("/data: something that takes more than one line here");
        page.row("time", "about three hours and more than one line");
        page.rows("stack", &["a".to_owned(), "b".to_owned()]);
        let text = page.finish();
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert!(text.contains("  time        about three hours"), "{text}");
        assert!(
            text.contains("  stack       a\n              b\n"),
            "{text}"
        );
    }
}
