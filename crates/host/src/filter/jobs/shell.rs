//! Removes potential secrets from shell text.
//!
//! Structure, program names, guards, and arguments of programs known to take no secrets are kept.
//! Every other word becomes `…`; comments and here-documents are removed. Line numbers are
//! preserved, and the script parser finds the same before and after filtering. That parser decides
//! what may be kept of each word; text that it cannot parse is not kept at all.

use crate::parse::shell::script::{tokens, tokens_of_exec};
use crate::parse::shell::words::{DELIMITER, Keep, Kind, Segment, Token, Word};

/// Placeholder for a removed word.
pub(super) const REDACTED: &str = "…";

/// Applies a filter until the text no longer changes, so that filtering again is a no-op. `None` if
/// it does not settle, as may happen with text designed to confuse, or cannot be filtered.
pub(super) fn filter_until_stable(
    text: &str,
    reduce: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut current = reduce(text)?;
    for _ in 0..6 {
        let next = reduce(&current)?;
        if next == current {
            return Some(current);
        }
        current = next;
    }
    None
}

/// Filters a script or a shell command line.
pub(super) fn reduce(text: &str) -> Option<String> {
    let mut renderer = Renderer::at_line(1);
    renderer.tokens(&tokens(text)?);
    Some(renderer.out)
}

/// Filters a command line that runs without a shell.
pub(super) fn reduce_plain(line: &str) -> Option<String> {
    let mut renderer = Renderer::at_line(usize::MAX);
    renderer.tokens(&tokens_of_exec(line)?);
    // A nested script may contain line breaks.
    Some(renderer.out.replace('\n', " "))
}

struct Renderer {
    out: String,
    line: usize,
}

impl Renderer {
    fn at_line(line: usize) -> Self {
        let out = String::new();
        Self { out, line }
    }

    fn tokens(&mut self, tokens: &[Token]) {
        for token in tokens {
            while self.line < token.line {
                self.space();
                self.push("\\\n");
            }
            match &token.kind {
                Kind::Newline => self.push("\n"),
                Kind::HereDocument { lines, is_closed } => {
                    self.push(&"\n".repeat(*lines));
                    if *is_closed {
                        self.push(DELIMITER);
                        self.push("\n");
                    }
                }
                Kind::Operator(operator) => {
                    self.space();
                    self.push(operator);
                }
                Kind::Word(word) => {
                    self.space();
                    self.word(word, &token.keep, token.line);
                }
            }
        }
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.line = self.line.saturating_add(text.matches('\n').count());
    }

    fn space(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with([' ', '\n']) && !self.out.ends_with("$(") {
            self.out.push(' ');
        }
    }

    fn word(&mut self, word: &Word, keep: &Keep, line: usize) {
        match keep {
            Keep::Whole => {
                return word
                    .segments
                    .iter()
                    .for_each(|segment| self.segment(segment));
            }
            Keep::Nothing => self.push(REDACTED),
            Keep::Dash => {
                self.push("-");
                self.push(REDACTED);
            }
            Keep::Prefix(len) => {
                if let Some(Segment::Literal { text, .. }) = word.segments.first() {
                    self.push(text.get(..*len).unwrap_or_default());
                }
                self.push(REDACTED);
            }
            Keep::Script(script) => {
                let mut inner = Self::at_line(line);
                inner.tokens(script);
                self.push(&quoted(&inner.out));
            }
        }
        // The commands inside it are kept, filtered.
        word.for_scripts(&mut |script| self.segment(script));
    }

    fn segment(&mut self, segment: &Segment) {
        match segment {
            Segment::Literal {
                text,
                quoted: false,
            } => self.push(text),
            Segment::Literal { text, quoted: true } => self.push(&quoted(text)),
            Segment::Variable(name) => self.push(&format!("${{{name}}}")),
            Segment::Arithmetic(inner) => {
                self.push("$((");
                inner.segments.iter().for_each(|part| self.segment(part));
                self.push("))");
            }
            Segment::Opaque => self.push(REDACTED),
            Segment::Script(tokens) => {
                self.push("$(");
                let start = self.out.len();
                self.tokens(tokens);
                if self.out[start..].starts_with('(') {
                    // `$((` would be an arithmetic expansion.
                    self.out.insert(start, ' ');
                }
                self.push(")");
            }
        }
    }
}

/// Puts text in single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::shell::script::{Origin, scan, scan_exec};
    use proptest::prelude::*;

    fn settled(text: &str) -> String {
        filter_until_stable(text, reduce).unwrap_or_default()
    }

    #[test]
    fn structure_programs_and_guards_are_kept() {
        for text in [
            "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly ; }",
            "if [ ! -d /run/systemd/system ] ; then /usr/sbin/invoke-rc.d anacron start > /dev/null ; fi",
            "nice -n 10 ionice -c3 /sbin/fstrim -av 2>& 1",
            "FSTRIM=/sbin/fstrim\n${FSTRIM} --all || true\n",
            "[ $(( ( $(date +%s) - 1704585600 ) / 604800 % 2 )) -eq 0 ] && a",
            "expr '(' $(date +%s) + 302400 ')' / 604800 % 2 > /dev/null || a",
            "DAY=$(TZ=America/New_York /bin/date '+%-d' -d '+1 day') ; [ x${DAY} != x7 ] || exit",
            "if ( ( 10#$(date +%V) % 2 == 0 ) ) ; then a ; fi",
            "[[ $(date +%a) == Sun || $(date +%H%M) -lt 0900 ]] && a",
            "case $(date +%u) in 6 | 7 ) exit ;; * ) a ;; esac",
        ] {
            assert_eq!(settled(text), text);
        }
    }

    #[test]
    fn everything_else_is_removed() {
        for (text, expected) in [
            (
                "PGPASSWORD=hunter2 pg_dump -U app db # nightly",
                "PGPASSWORD=… pg_dump … … …",
            ),
            (
                "mysqldump -phunter2 --password=hunter2 all > /backup/all",
                "mysqldump … … … > …",
            ),
            (
                "curl -fsS https://user:pw@host/ping?a=b&token=x",
                "curl … …",
            ),
            (
                "sudo -u app env TOKEN=hunter2 rsync a b",
                "sudo -u … env TOKEN=… rsync … …",
            ),
            (
                "sh -c \"TOKEN=hunter2 fstrim -a; echo hunter2\"",
                "sh -c 'TOKEN=… fstrim -a ; echo …'",
            ),
            (
                "[ \"$PASS\" = hunter2 ] && exit 3",
                "[ ${PASS} = … ] && exit …",
            ),
            (
                "X=$(fstrim -v / | grep hunter2)",
                "X=…$(fstrim -v / | grep …)",
            ),
            ("KEYS=(hunter2 b) fstrim -a", "KEYS=… fstrim -a"),
            (
                "case $(date +%d) in hunter2|01|0[2-7]) a;; esac",
                "case $(date +%d) in … | 01 | … ) a ;; esac",
            ),
            (
                "case $X in hunter2|b) a;; esac",
                "case … in … | … ) a ;; esac",
            ),
            (
                "for x in hunter2 b; do fstrim $x; done",
                "for x in … … ; do fstrim ${x} ; done",
            ),
            ("a <<E\nhunter2\nE\nb\\\n c", "a << EOF\n\nEOF\nb \\\n…"),
            (
                "a <<'PY'\nhunter2\nPY\nfstrim -a",
                "a << EOF\n\nEOF\nfstrim -a",
            ),
            (
                "a <<\"b c\"\nhunter2\nb c\nfstrim -a",
                "a << EOF\n\nEOF\nfstrim -a",
            ),
            ("a <<$END\n\nhunter2\n$END\nb", "a << EOF\n\n\nEOF\nb"),
            ("a <<`x y`\n\nhunter2\n`x y`\nb", "a << EOF\n\n\nEOF\nb"),
            (
                "x=$(a <<\"b c\"\nhunter2 )\nhunter2\nb c\n)\nfstrim -a",
                "x=…$(a << EOF\n\n\nEOF\n)\nfstrim -a",
            ),
            (
                "curl x | bash -s -- --token hunter2",
                "curl … | bash -s … … …",
            ),
            ("sh -s hunter2", "sh -s …"),
            ("sh $X hunter2", "sh ${X} …"),
            ("su - hunter2 -c 'TOKEN=hunter2 a'", "su - … -c 'TOKEN=… a'"),
            ("a=$'it\\'s hunter2' b", "a=… b"),
            ("sh -c \"a $(b hunter2) hunter2\"", "sh -c 'a … …'$(b …)"),
            (
                "start-stop-daemon -S -c hunter2 -x /sbin/a -- hunter2",
                "start-stop-daemon … … … -x /sbin/a -- …",
            ),
            ("PASS=a\u{a0}hunter2", "PASS=…"),
            ("PASS=a\x0chunter2", "PASS=…"),
            (
                "[ $(date +%F) = hunter2 ] && [ \"$PIN\" = 1234 ] && a",
                "[ $(date +%F) = … ] && [ ${PIN} = … ] && a",
            ),
            (
                "[ $(date +hunter2%d) -le 7 ] || [ $(date -d hunter2 +%d) = 1 ]",
                "[ …$(date …) -le 7 ] || [ …$(date -d … +%d) = 1 ]",
            ),
            ("DAY=7 PASS=12 X=123; a", "DAY=7 PASS=… X=… ; a"),
            (
                "[ $(( $(date +%s) / $(hunter2 x) )) -gt $((hunter2)) ]",
                "[ …$(date +%s)$(hunter2 …) -gt … ]",
            ),
            (
                "expr hunter2 : 12 ; expr 1234 + 1",
                "expr … … … ; expr … … …",
            ),
            ("SMTP_PW=/hunter2", "SMTP_PW=…"),
            ("rkhunter --token hunter2 -c", "rkhunter --token … -c"),
            ("export PASSWORD=/hunter2", "export PASSWORD=…"),
        ] {
            assert_eq!(settled(text), expected, "{text}");
        }
    }

    #[test]
    fn plain_command_lines() {
        for (line, expected) in [
            (
                "/sbin/fstrim --fstab --verbose",
                "/sbin/fstrim --fstab --verbose",
            ),
            (
                "/usr/bin/backup --url=http://h/?a&hunter2 | hunter2",
                "/usr/bin/backup … … …",
            ),
            (
                "/bin/sh -c 'fstrim -a && TOKEN=hunter2 x'",
                "/bin/sh -c 'fstrim -a && TOKEN=… x'",
            ),
            ("/usr/bin/x $(hunter2) `hunter2`", "/usr/bin/x … …"),
            ("/bin/sh -s -- hunter2", "/bin/sh -s … …"),
        ] {
            let once = reduce_plain(line).expect(line);
            assert_eq!(once, expected);
            assert_eq!(reduce_plain(&once).as_deref(), Some(expected));
        }
    }

    /// Scripts as people write them, with the secret `hunter2` in every place where one may be.
    fn statement() -> impl Strategy<Value = String> {
        let simple = prop::sample::select(vec![
            "/sbin/fstrim -av",
            "PGPASSWORD=hunter2 pg_dump db > /tmp/x",
            "mysqldump -phunter2 --all | gzip -9",
            "curl -u user:hunter2 'https://user:hunter2@host/a b'",
            "export TOKEN=\"hunter2\" OTHER='hun ter2 hunter2'",
            "MDADM=/sbin/mdadm",
            "exec $MDADM --monitor --scan",
            "ionice -c3 nice e4defrag /data",
            "OUT=`rsync -a --password-file=hunter2 a b`",
            "DAY=$(date +%d) WEEK=$(( 10#$(date +%V) % 2 )) X=$DAY",
            "test $WEEK -eq 0 || exit 0",
            "sh -c 'btrfs scrub start /; echo hunter2'",
            "sudo -n -u hunter2 /usr/bin/updatedb",
            "sleep $(( RANDOM % 60 ))",
            "cat <<EOF\nit's hunter2\nEOF",
            "trap 'rm -f hunter2' EXIT",
            "KEYS=(hunter2 hunter2)",
            "timeout --signal=KILL 1h fstrim /hot",
            "logger -t x \"trimmed $(fstrim -v /data) with hunter2\"",
            "exit 0",
            "start-stop-daemon --start --startas /usr/bin/mandb --chuid hunter2 $x -- --quiet --token=hunter2",
            "openssl enc -k hunter2 \\\n  -in hunter2",
        ]);
        let guard = prop::sample::select(vec![
            "[ -x /sbin/fstrim ]",
            "test -d /run/systemd/system",
            "[ \"$1\" = hunter2 ]",
            "[ $(date +%d) -le 7 ]",
            "(( 10#`date +%V` % 2 ))",
            "[ $(date +%F) = hunter2 ]",
            "[ \"$(cat hunter2)\" -lt $(( ($(date +%s) - 1704585600) / 604800 )) -o -f /x ]",
            "expr $(date +%W) % 2 >/dev/null",
            "date +%d | grep -q hunter2",
            "grep -q hunter2 /proc/mounts",
            "! [ -e /etc/no ]",
        ]);
        let simple = (simple, guard);
        simple
            .prop_flat_map(|(simple, guard)| {
                prop::sample::select(vec![
                    simple.to_owned(),
                    format!("{guard} && {simple}"),
                    format!("{guard} || {{ {simple}\n}}"),
                    format!("if {guard}; then\n  {simple}\nelse\n  true # hunter2\nfi"),
                    format!("for x in hunter2 b; do\n {simple}\ndone"),
                    format!("case $x in\n hunter2) {simple}\n ;;\n *) false;;\nesac"),
                    format!("case $(date +%u) in\n 7|hunter2) {simple}\n ;;\n *) exit;;\nesac"),
                    format!("job() {{\n  {simple}\n}}"),
                    format!("( {simple}\n)"),
                ])
            })
            .boxed()
    }

    proptest! {
        #[test]
        fn secrets_are_removed_and_the_facts_unchanged(statements in prop::collection::vec(statement(), 1..12)) {
            let text = format!("{}\n", statements.join("\n"));
            let kept = settled(&text);
            prop_assert!(!kept.contains("hunter2"), "{kept}");
            prop_assert_eq!(settled(&kept), kept.as_str());
            let test = |option: char, path: &str| (option != 'd').then_some(path.len() > 8);
            prop_assert_eq!(
                scan(Origin::File("s"), &text, &test),
                scan(Origin::File("s"), &kept, &test)
            );
        }

        #[test]
        fn any_text_becomes_stable(text in "(if|then|fi|do|done|for|in|case|esac|fstrim|sh -c|[ -x /a ]|\\{|\\}|\\(|\\)|;|;;|&&|\\|\\||&|\n|\\\\| |'|\"|`|\\$\\(|\\$\\{|\\$\\(\\(|\\(\\(|date|\\+%d|-le|7|expr|\\[|\\[\\[|D=|\\$D|<<E|<<-|>x|A=|\\$A|!|#|…){0,60}") {
            let kept = settled(&text);
            prop_assert_eq!(settled(&kept), kept);
            let plain = filter_until_stable(&text, reduce_plain).unwrap_or_default();
            prop_assert_eq!(filter_until_stable(&plain, reduce_plain), Some(plain));
        }

        #[test]
        fn plain_lines_give_the_same_facts(words in prop::collection::vec("(/sbin/fstrim|nice|-n|5|--all|sh|-c|'fstrim -a; x hunter3'|hunter2|a=hunter2|\\$X|;|&|\\|)", 1..8)) {
            let line = words.join(" ");
            let kept = filter_until_stable(&line, reduce_plain).expect("settled");
            let test = |_: char, _: &str| None;
            prop_assert_eq!(
                scan_exec(Origin::Line("u"), &line, &test),
                scan_exec(Origin::Line("u"), &kept, &test)
            );
        }
    }
}
