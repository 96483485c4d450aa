//! Pages of `--status` and `--cancel`: progress of passes, and results of cancel requests.

use crate::trim::command_text;
use crate::views::phrases::ago;
use jiff::Timestamp;
use page::{Facts, List, Page, Section};
use std::fmt::Write as _;
use trim::resume::ResumeCommand;
use trim::status::{CancelOutcome, Cancelled, PassState, PassStatus};
use units::{bytes, count};

/// Builds the page of the passes that are running or can be resumed. `is_complete` is false if some
/// could not be read.
pub fn status(
    passes: &[PassStatus],
    is_complete: bool,
    resume: &ResumeCommand,
    now: Timestamp,
) -> Page {
    let mut page = Page::new("trimtab trim: status", "");
    match passes {
        [] if is_complete => {
            "no pass is running, and none can be resumed".clone_into(&mut page.lead);
        }
        [] => "no pass could be read".clone_into(&mut page.lead),
        [status] => {
            page.lead = format!("{}: {}", status.mount_point, state(status, now));
            page.push(facts(status, resume, now));
        }
        all => {
            page.lead = counted(all);
            for status in all {
                let mut section = Section::with_aside(&status.mount_point, state(status, now));
                section.push(facts(status, resume, now));
                page.push(section);
            }
        }
    }
    page
}

/// Counts the passes: `2 passes are running, 1 can be resumed`.
fn counted(passes: &[PassStatus]) -> String {
    let running = passes.iter().filter(|status| status.is_running()).count();
    let is_unknown = |status: &&PassStatus| status.state == PassState::Unknown;
    let unknown = passes.iter().filter(is_unknown).count();
    if unknown > 0 {
        let known = passes.len() - unknown - running;
        return format!(
            "{}: {running} running, {known} to be resumed, {unknown} in an unknown state",
            count_passes(passes.len())
        );
    }
    let stopped = passes.len() - running;
    let verb = if running == 1 { "is" } else { "are" };
    match (running, stopped) {
        (0, stopped) => format!(
            "no pass is running, {} can be resumed",
            count_passes(stopped)
        ),
        (running, 0) => format!("{} {verb} running", count_passes(running)),
        (running, stopped) => format!(
            "{} {verb} running, {stopped} can be resumed",
            count_passes(running)
        ),
    }
}

fn count_passes(number: usize) -> String {
    units::count::counted(number, "pass", "passes")
}

fn state(status: &PassStatus, now: Timestamp) -> String {
    let updated = || ago(status.updated_at, now);
    match &status.state {
        PassState::Running {
            pid,
            waits_for_window: true,
        } => format!("running, process {pid}, which waits for its window"),
        PassState::Running { pid, .. } => format!("running, process {pid}"),
        PassState::Stopped { reason } => format!("stopped {}: {reason}", updated()),
        PassState::Interrupted => {
            format!("interrupted {} (killed, or the host went down)", updated())
        }
        PassState::Unknown => {
            format!(
                "state unknown, last written {}: its lock cannot be read",
                updated()
            )
        }
    }
}

fn facts(status: &PassStatus, resume: &ResumeCommand, now: Timestamp) -> Facts {
    let mut facts = Facts::default();
    facts.push("visited", visited(status));
    let mut time = format!(
        "began {}, {} of work",
        ago(status.started_at, now),
        units::duration(status.active())
    );
    if let Some(per_s) = status.visited_bytes_per_s() {
        let _ = write!(time, ", {}", units::bytes_per_s(per_s));
    }
    facts.push("time", time);
    if status.is_running() {
        facts.push_each("left", status.left().map(units::duration));
        facts.push_each("now", &status.remark);
        let cancel = resume.cancel(&status.mount_point);
        facts.push("to end it", command_text(&cancel));
    } else if status.state != PassState::Unknown {
        let resumed = resume.resume_unknown(&status.mount_point);
        facts.push("to resume", command_text(&resumed));
        let cancel = resume.cancel(&status.mount_point);
        facts.push("to forget", command_text(&cancel));
    }
    facts
}

fn visited(status: &PassStatus) -> String {
    if status.is_untouched() {
        return "nothing yet".to_owned();
    }
    format!(
        "{} %, {} of {} free, in {}",
        // It is not complete, or there would be no checkpoint.
        units::share::percent_done(status.visited_bytes, status.free_bytes).min(99),
        bytes(status.visited_bytes),
        bytes(status.free_bytes),
        count(status.steps, "step")
    )
}

/// Builds the page of results of cancel requests.
pub fn cancelled(requests: &[Cancelled]) -> Page {
    let results = requests.iter().map(|request| {
        let outcome = match request.outcome {
            CancelOutcome::Asked { pid: Some(pid) } => format!("process {pid} was asked to end"),
            CancelOutcome::Asked { pid: None } => "its process was asked to end".to_owned(),
            CancelOutcome::Forgotten => {
                "no pass was running; its checkpoint has been removed".to_owned()
            }
            CancelOutcome::NothingThere => {
                "no pass is running, and there is no checkpoint".to_owned()
            }
        };
        format!("{}: {outcome}", request.path.display())
    });
    let mut items: Vec<String> = results.collect();
    let mut page = Page {
        title: "trimtab trim: cancel".to_owned(),
        ..Page::default()
    };
    if items.len() == 1 {
        page.lead = items.remove(0);
    } else {
        page.lead = format!("{} to cancel.", count(items.len(), "request"));
        page.push(List::new("", items));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trim::lines;
    use page::{Block, Terminal};
    use std::collections::BTreeMap;

    fn one(state: PassState) -> PassStatus {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        PassStatus {
            mount_point: "/data".to_owned(),
            uuid: Some("0f0f".to_owned()),
            state,
            started_at: at("2026-03-02T01:00:00Z"),
            updated_at: at("2026-03-02T02:00:00Z"),
            steps: 1234,
            free_bytes: 4 << 30,
            visited_bytes: 1 << 30,
            discarded_bytes: BTreeMap::new(),
            active_s: 1024.0,
            left_s: Some(3072.0),
            remark: Some("4 KiB reads: mean 0.4 ms".to_owned()),
        }
    }

    fn running(waits_for_window: bool) -> PassState {
        PassState::Running {
            pid: 4711,
            waits_for_window,
        }
    }

    fn text_of(passes: &[PassStatus]) -> String {
        let now = "2026-03-02T03:00:00Z".parse().unwrap();
        let page = status(passes, true, &ResumeCommand::default(), now);
        let terminal = Terminal {
            unicode: false,
            ..Terminal::default()
        };
        page::terminal(&page, &terminal)
    }

    fn text(pass: &PassStatus) -> String {
        text_of(std::slice::from_ref(pass))
    }

    #[test]
    fn a_running_pass() {
        assert_eq!(
            text(&one(running(false))),
            "/data: running, process 4711\n\
             \n\
             visited    25 %, 1 GiB of 4 GiB free, in 1,234 steps\n\
             time       began 2 h ago, 17 min 4 s of work, 1 MiB/s\n\
             left       51 min 12 s\n\
             now        4 KiB reads: mean 0.4 ms\n\
             to end it  `trimtab trim --cancel /data`\n"
        );
    }

    #[test]
    fn waiting_pass_says_so_and_stopped_pass_never_shows_100_percent() {
        let mut waiting = one(running(true));
        waiting.remark = Some("waiting, outside of --window 01:00-05:00, UTC".to_owned());
        let shown = text(&waiting);
        assert!(
            shown.contains("running, process 4711, which waits for its window"),
            "{shown}"
        );
        assert!(
            shown.contains("now        waiting, outside of --window"),
            "{shown}"
        );
        assert_eq!(lines::pass_status(&waiting)["waits_for_window"], true);
        let mut twice = one(PassState::Interrupted);
        assert_eq!(lines::pass_status(&twice)["waits_for_window"], false);
        twice.visited_bytes = 5 << 30;
        let shown = text(&twice);
        assert!(shown.contains("visited    99 %"), "{shown}");
        twice.steps = 0;
        twice.free_bytes = 0;
        let shown = text(&twice);
        assert!(shown.contains("visited    nothing yet"), "{shown}");
    }

    #[test]
    fn resumable_passes_show_why_they_ended() {
        let killed = text(&one(PassState::Interrupted));
        assert!(killed.contains("interrupted 1 h ago"), "{killed}");
        assert!(killed.contains("`trimtab trim /data`"), "{killed}");
        let stopped = |reason: &str| {
            one(PassState::Stopped {
                reason: reason.to_owned(),
            })
        };
        let text_of = text(&stopped("the deadline has passed"));
        assert!(
            text_of.contains("stopped 1 h ago: the deadline has passed"),
            "{text_of}"
        );
        assert!(
            text_of.contains("to resume  `trimtab trim /data`, with the options"),
            "{text_of}"
        );
        let fields = lines::pass_status(&stopped("ended by SIGTERM"));
        assert_eq!(fields["reason"], "ended by SIGTERM");
        assert_eq!(fields["state"], "stopped");
        let state = |state: PassState| lines::pass_status(&one(state))["state"].clone();
        assert_eq!(state(PassState::Interrupted), "interrupted");
        assert_eq!(state(running(false)), "running");
    }

    #[test]
    fn several_passes_start_with_a_count() {
        let all = [one(running(false)), one(PassState::Interrupted)];
        let shown = text_of(&all);
        assert!(
            shown.starts_with("1 pass is running, 1 can be resumed\n"),
            "{shown}"
        );
        let all = [one(running(false)), one(PassState::Unknown)];
        let shown = text_of(&all);
        assert!(
            shown.starts_with("2 passes: 1 running, 0 to be resumed, 1 in an unknown state\n"),
            "{shown}"
        );
        assert!(shown.contains("its lock cannot be read"), "{shown}");
        assert!(!shown.contains("to resume"), "{shown}");
        let none = text_of(&[]);
        assert_eq!(none, "no pass is running, and none can be resumed\n");
    }

    #[test]
    fn results_of_cancel_requests() {
        let request = |path: &str, outcome| Cancelled {
            path: path.into(),
            outcome,
        };
        let asked = request("/data", CancelOutcome::Asked { pid: Some(7) });
        let nothing = request("/x\u{1b}", CancelOutcome::NothingThere);
        let one = cancelled(std::slice::from_ref(&asked));
        assert_eq!(one.lead, "/data: process 7 was asked to end");
        let two = cancelled(&[asked, nothing]);
        assert_eq!(two.lead, "2 requests to cancel.");
        let [Block::List(list)] = two.blocks.as_slice() else {
            panic!("{two:?}");
        };
        assert_eq!(list.items.len(), 2);
    }
}
