use super::*;
use crate::parse::shell::lexer;
use crate::parse::shell::words::Kind;

fn run_in(line: &str, scope: &mut Scope) -> (Option<String>, bool) {
    let tokens = lexer::plain(line);
    let words: Vec<&Word> = tokens
        .iter()
        .filter_map(|token| match &token.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        })
        .collect();
    let broken = breakdown(&words, scope);
    assert_eq!(broken.keep.len(), words.len());
    let idle = broken.run.as_ref().is_some_and(|run| run.idle_io);
    let shown = broken.run.map(|run| {
        let mut shown = vec![run.program];
        shown.extend(run.arguments);
        shown.join(" ")
    });
    (shown, idle)
}

fn run(line: &str) -> Option<String> {
    run_in(line, &mut Scope::default()).0
}

#[test]
fn the_program_behind_wrappers_is_found() {
    for line in [
        "fstrim -av",
        "A=b C=d /sbin/fstrim -av",
        "sudo -n -u root -- /sbin/fstrim -av",
        "env -i PATH=/bin fstrim -av",
        "timeout -k 5 1h fstrim -av",
        "flock -n /run/lock/trim fstrim -av",
        "nice -n 10 ionice -c 2 -n 7 fstrim -av",
        "chrt --idle 0 fstrim -av",
        "systemd-cat -t trim nohup fstrim -av",
        "runuser -u root -- fstrim -av",
        "exec nice fstrim -av",
        "sudo $OPTIONS fstrim -av",
        "start-stop-daemon -S -x /sbin/fstrim -- -av",
    ] {
        assert_eq!(run(line).as_deref(), Some("fstrim -av"), "{line}");
    }
    assert_eq!(
        run("start-stop-daemon --start --pidfile /dev/null --startas /usr/bin/mandb --oknodo --chuid man $iosched_idle -- --no-purge --quiet")
            .as_deref(),
        Some("mandb --no-purge --quiet")
    );
    assert_eq!(run("command -v fstrim"), None);
    assert_eq!(run("$UNKNOWN -av"), None);
    assert_eq!(run("/bin/sh -e /opt/trim.sh x").as_deref(), Some("trim.sh"));
    for line in ["sh $SCRIPT x", "sh -s x", "su - x", "su $USER x"] {
        assert_eq!(run(line), None, "{line}");
    }
}

#[test]
fn idle_io_is_detected() {
    let idle = |line: &str| run_in(line, &mut Scope::default()).1;
    assert!(idle("ionice -c3 fstrim /"));
    assert!(idle("ionice -c 3 fstrim /"));
    assert!(idle("ionice -c idle fstrim /"));
    assert!(idle("ionice --class=idle fstrim /"));
    assert!(idle("nice fstrim /"));
    assert!(idle("nice -19 fstrim /"));
    assert!(!idle("nice -n -5 fstrim /"));
    assert!(!idle("ionice -c2 -n0 fstrim /"));
    assert!(!idle("fstrim /"));
}

#[test]
fn only_paths_become_variables() {
    let mut scope = Scope::default();
    run_in("FSTRIM=/sbin/fstrim", &mut scope);
    run_in("export DATA=/data", &mut scope);
    run_in("OPTIONS=-av", &mut scope);
    assert_eq!(
        run_in("${FSTRIM} $OPTIONS $DATA/x", &mut scope)
            .0
            .as_deref(),
        Some("fstrim $OPTIONS /data/x")
    );
    run_in("FSTRIM=no", &mut scope);
    assert_eq!(run_in("$FSTRIM -av", &mut scope).0, None);
}

#[test]
fn an_assignment_before_a_program_does_not_persist() {
    let mut scope = Scope::default();
    run_in("TOOL=/sbin/fstrim something", &mut scope);
    assert_eq!(run_in("$TOOL -a", &mut scope).0, None);
}

#[test]
fn arguments_that_may_be_secret_are_not_facts() {
    assert_eq!(
        run("apt -o Proxy=http://user:pw@host/ update").as_deref(),
        Some("apt -o … update")
    );
    assert_eq!(
        run("rsync -a --password-file=x a b").as_deref(),
        Some("rsync")
    );
    assert_eq!(
        run("smartctl --token=abc -t long /dev/sda").as_deref(),
        Some("smartctl … -t long /dev/sda")
    );
}
