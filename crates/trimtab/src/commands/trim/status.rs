//! How far passes are, in words.

use super::words::{Page, command_text, long, percent, rate};
use jiff::Timestamp;
use report::{count, escape, human_bytes, human_duration};
use std::fmt::Write as _;
use trim::resume::ResumeCommand;
use trim::status::{CancelOutcome, Cancelled, PassState, PassStatus};

/// One pass.
pub fn pass(page: &mut Page, status: &PassStatus, resume: &ResumeCommand, now: Timestamp) {
    let point = escape(&status.mount_point);
    let ago = |at: Timestamp| {
        let seconds = now.duration_since(at).as_secs().max(0).unsigned_abs();
        format!("{} ago", human_duration(seconds))
    };
    let state = match &status.state {
        PassState::Running {
            pid,
            waits_for_window: true,
        } => format!("running, process {pid}, which waits for its window"),
        PassState::Running { pid, .. } => format!("running, process {pid}"),
        PassState::Stopped { reason } => format!("stopped {}: {reason}", ago(status.updated_at)),
        PassState::Interrupted => format!(
            "interrupted {} (killed, or the host went down)",
            ago(status.updated_at)
        ),
    };
    page.head(&format!("{point}: {state}"));
    page.row("visited", &visited(status));
    let mut time = format!(
        "began {}, {} of work",
        ago(status.started_at),
        long(status.active())
    );
    if let Some(per_s) = status.visited_bytes_per_s() {
        let _ = write!(time, ", {}", rate(per_s));
    }
    page.row("time", &time);
    if status.is_running() {
        if let Some(left) = status.left() {
            page.row("left", &long(left));
        }
        if let Some(remark) = &status.remark {
            page.row("now", remark);
        }
        let cancel = resume.cancel(&status.mount_point);
        page.row("to end it", &command_text(&cancel));
    } else {
        let resumed = resume.resume_unknown(&status.mount_point);
        page.row("to resume", &command_text(&resumed));
        let cancel = resume.cancel(&status.mount_point);
        page.row("to forget", &command_text(&cancel));
    }
}

fn visited(status: &PassStatus) -> String {
    if status.is_untouched() {
        return "nothing yet".to_owned();
    }
    format!(
        "{} %, {} of {} free, in {}",
        // It is not complete, or there would be no checkpoint.
        percent(status.visited_bytes, status.free_bytes).min(99),
        human_bytes(status.visited_bytes),
        human_bytes(status.free_bytes),
        count(status.steps, "step")
    )
}

/// What became of requests to cancel passes, a line each.
pub fn cancelled(requests: &[Cancelled]) -> String {
    let mut text = String::new();
    for request in requests {
        let told = match request.outcome {
            CancelOutcome::Asked { pid } => format!(
                "process {} was asked to end",
                pid.map_or("?".to_owned(), |pid| pid.to_string())
            ),
            CancelOutcome::Forgotten => {
                "no pass was running; its checkpoint is forgotten".to_owned()
            }
            CancelOutcome::NothingThere => {
                "no pass is running, and there is no checkpoint".to_owned()
            }
        };
        let path = request.path.display().to_string();
        let _ = writeln!(text, "{}: {told}", escape(&path));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;
    use std::collections::BTreeMap;

    fn status(state: PassState) -> PassStatus {
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

    fn text(status: &PassStatus) -> String {
        let mut page = Page::new(80);
        let now = "2026-03-02T03:00:00Z".parse().unwrap();
        pass(&mut page, status, &ResumeCommand::default(), now);
        page.finish()
    }

    #[test]
    fn a_running_pass() {
        insta::assert_snapshot!(text(&status(running(false))));
    }

    #[test]
    fn a_pass_that_waits_says_so_and_one_that_was_stopped_is_never_at_its_end() {
        let mut waiting = status(running(true));
        waiting.remark = Some("waiting, outside of --window 01:00-05:00, UTC".to_owned());
        let shown = text(&waiting);
        assert!(
            shown.contains("running, process 4711, which waits for its window"),
            "{shown}"
        );
        assert!(
            shown.contains("now         waiting, outside of --window"),
            "{shown}"
        );
        assert_eq!(lines::pass_status(&waiting)["waits_for_window"], true);
        let mut twice = status(PassState::Interrupted);
        assert_eq!(lines::pass_status(&twice)["waits_for_window"], false);
        twice.visited_bytes = 5 << 30;
        let shown = text(&twice);
        assert!(shown.contains("visited     99 %"), "{shown}");
        twice.steps = 0;
        twice.free_bytes = 0;
        let shown = text(&twice);
        assert!(shown.contains("visited     nothing yet"), "{shown}");
    }

    #[test]
    fn passes_that_can_be_resumed_say_why_they_ended() {
        let killed = text(&status(PassState::Interrupted));
        assert!(killed.contains("interrupted 1 h ago"), "{killed}");
        assert!(killed.contains("`trimtab trim /data`"), "{killed}");
        let stopped = |reason: &str| {
            status(PassState::Stopped {
                reason: reason.to_owned(),
            })
        };
        let text_of = text(&stopped("the deadline has passed"));
        assert!(
            text_of.contains("stopped 1 h ago: the deadline has passed"),
            "{text_of}"
        );
        assert!(
            text_of.contains("to resume   `trimtab trim /data`, with the options"),
            "{text_of}"
        );
        let fields = lines::pass_status(&stopped("ended by SIGTERM"));
        assert_eq!(fields["reason"], "ended by SIGTERM");
        assert_eq!(fields["state"], "stopped");
        let state = |state: PassState| lines::pass_status(&status(state))["state"].clone();
        assert_eq!(state(PassState::Interrupted), "interrupted");
        assert_eq!(state(running(false)), "running");
    }
}
