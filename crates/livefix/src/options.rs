//! Edits the text of `jvm.options`: one option a line, `#` begins a comment, and `8-13:` before an option limits it to
//! versions of Java (`JvmOptionsParser` of Elasticsearch).

use facts::cluster::LIVE_FIX_JAR;
use thiserror::Error;

const COMMENT: &str = "# trimtab's live fix: reroutes without the scan of all shards. To remove it: trimtab livefix uninstall";
const OPTION: &str = "-javaagent:";

/// Why an agent cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// It is there.
    #[error("the live fix is in it already, in line {line}: {text}")]
    Already {
        /// 1-based.
        line: usize,
        /// The line.
        text: String,
    },
    /// Start scripts split options at blanks, and expand some characters.
    #[error(
        "the start script takes no path with {found:?}: expected letters, digits, and any of / . _ -"
    )]
    Path {
        /// The character.
        found: char,
    },
    /// The file is not text.
    #[error("expected text in UTF-8")]
    NotText,
}

/// Whether a line loads the agent, whatever its path.
fn is_ours(line: &str) -> bool {
    // After a range of versions of Java, such as 8: or 8-13:.
    let option = line
        .trim()
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    let option = option.strip_prefix(':').unwrap_or(line.trim());
    option.strip_prefix(OPTION).is_some_and(|path| {
        path.split('=')
            .next()
            .is_some_and(|path| path.rsplit('/').next() == Some(LIVE_FIX_JAR))
    })
}

/// Returns the path of the agent's jar that the options name, if they do.
pub fn agent_jar(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| is_ours(line))?;
    line.split_once(OPTION)?.1.trim().split('=').next()
}

/// Returns the options with the agent at the end.
///
/// # Errors
/// If it is there, or its path cannot be given.
pub fn with_agent(text: &[u8], jar: &str) -> Result<Vec<u8>, EditError> {
    let text = std::str::from_utf8(text).map_err(|_| EditError::NotText)?;
    let mut lines = text.lines().enumerate();
    if let Some((at, line)) = lines.find(|(_, line)| is_ours(line)) {
        return Err(EditError::Already {
            line: at + 1,
            text: line.trim().to_owned(),
        });
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if let Some(found) = jar.chars().find(|&c| !is_plain(c)) {
        return Err(EditError::Path { found });
    }
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Ok(format!("{text}{end}{COMMENT}\n{OPTION}{jar}\n").into_bytes())
}

/// Returns the options without the agent and its comment; all else stays. `None` if it is not in them.
///
/// # Errors
/// If the file is not text.
pub fn without_agent(text: &[u8]) -> Result<Option<Vec<u8>>, EditError> {
    let text = std::str::from_utf8(text).map_err(|_| EditError::NotText)?;
    let kept: String = text
        .split_inclusive('\n')
        .filter(|line| !is_ours(line) && line.trim() != COMMENT)
        .collect();
    Ok((kept.len() < text.len()).then(|| kept.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JAR: &str = "/etc/elasticsearch/trimtab-livefix.jar";

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_agent_is_added_once_and_removed() {
        let before = "-Xms1g\n8:-XX:+UseConcMarkSweepGC\n";
        let after = text(with_agent(before.as_bytes(), JAR).unwrap());
        assert_eq!(
            after,
            format!("{before}{COMMENT}\n-javaagent:/etc/elasticsearch/trimtab-livefix.jar\n")
        );
        assert_eq!(agent_jar(&after), Some(JAR));
        assert_eq!(
            with_agent(after.as_bytes(), JAR),
            Err(EditError::Already {
                line: 4,
                text: format!("-javaagent:{JAR}")
            })
        );
        let again = without_agent(after.as_bytes()).unwrap().unwrap();
        assert_eq!(text(again), before);
        assert_eq!(without_agent(before.as_bytes()), Ok(None));
    }

    #[test]
    fn lines_that_others_wrote_are_recognised() {
        for line in [
            "-javaagent:/x/trimtab-livefix.jar",
            "  -javaagent:/x/trimtab-livefix.jar  ",
            "8-:-javaagent:/x/trimtab-livefix.jar",
            "8-13:-javaagent:/x/trimtab-livefix.jar",
            "-javaagent:/x/trimtab-livefix.jar=options",
        ] {
            assert_eq!(agent_jar(line), Some("/x/trimtab-livefix.jar"), "{line}");
        }
        for line in [
            "#-javaagent:/x/trimtab-livefix.jar",
            "-javaagent:/x/elastic-apm-agent.jar",
            "-javaagent:/x/not-trimtab-livefix.jar",
            "-Dx=trimtab-livefix.jar",
            "",
        ] {
            assert_eq!(agent_jar(line), None, "{line}");
        }
    }

    #[test]
    fn paths_that_a_start_script_would_split_are_refused() {
        for (jar, found) in [
            ("/a b/x.jar", ' '),
            ("/a$(x)/y.jar", '$'),
            ("/ä/y.jar", 'ä'),
        ] {
            assert_eq!(with_agent(b"", jar), Err(EditError::Path { found }));
        }
        assert_eq!(with_agent(b"\xff", JAR), Err(EditError::NotText));
    }

    proptest! {
        #[test]
        fn removing_what_was_added_gives_the_same_lines(before in "([ -~]{0,30}\r?\n){0,6}[ -~]{0,10}") {
            prop_assume!(agent_jar(&before).is_none() && !before.contains(COMMENT));
            let after = with_agent(before.as_bytes(), JAR).unwrap();
            let again = text(without_agent(&after).unwrap().unwrap());
            // A file without a line break at its end gets one; the backup is what restores that.
            prop_assert_eq!(again.trim_end_matches('\n'), before.trim_end_matches('\n'));
        }
    }
}
