//! Whole passes over a simulated filesystem and drive, in simulated time.

mod world;

use super::*;
use crate::child::TrimError;
use crate::stop::{Stop, StopRequest};
use crate::target::TargetError;
use jiff::Timestamp;
use std::rc::Rc;
use std::time::Duration;
use world::{Trial, UNIT, World};

#[test]
fn a_pass_visits_everything_once_and_leaves_no_checkpoint() {
    let mut trial = Trial::new(World::new());
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
    let bytes = trial.units * UNIT;
    assert_eq!(outcome.progress.visited_bytes, bytes);
    assert_eq!(outcome.progress.free_bytes, bytes);
    assert_eq!(outcome.progress.discarded.0["nvme0n1"], bytes);
    assert!(outcome.measurable);
    assert_eq!(trial.state.checkpoint(&trial.key()).unwrap(), None);
    assert!(matches!(events[0], Event::Measuring { .. }));
    assert!(matches!(events[1], Event::Begins { .. }));
}

/// A pass of half a minute was announced as one of a minute, because it had measured for eight seconds.
#[test]
#[allow(clippy::cast_precision_loss)] // a rate
fn the_rate_does_not_count_the_measuring() {
    let (_, events) = Trial::new(World::new()).run();
    let measured = events.iter().find_map(|event| match event {
        Event::Measuring { takes } => Some(*takes),
        _ => None,
    });
    let first = events.iter().find_map(|event| match event {
        Event::Stepped { progress, .. } => Some(progress),
        _ => None,
    });
    let (measured, first) = (measured.unwrap(), first.unwrap());
    let stepping = first.active.saturating_sub(measured);
    assert!(stepping < measured, "{stepping:?} after {measured:?}");
    let visited = first.rate_bytes_per_s * stepping.as_secs_f64();
    assert!(visited > 0.9 * first.visited_bytes as f64, "{first:?}");
}

#[test]
fn a_signal_in_the_kernel_loses_no_step() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        (call == 2).then(|| {
            world.stop.request(StopRequest::Signal(15));
            TrimError::Stopped
        })
    });
    let (outcome, _) = trial.run();
    assert_eq!(outcome.ended, Ended::Signal(15));
    let done: u64 = trial.world.calls.borrow().iter().map(|c| c.len_bytes).sum();
    let checkpoint = trial.state.checkpoint(&trial.key()).unwrap().unwrap();
    assert_eq!(checkpoint.cursor.next_bytes, done);
    assert_eq!(checkpoint.steps, 2);

    let world = Rc::get_mut(&mut trial.world).unwrap();
    world.stop = Stop::default();
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
    assert!(events.iter().any(
        |event| matches!(event, Event::Begins { resumed_bytes, .. } if *resumed_bytes == done)
    ));
    // Both sessions are counted.
    assert_eq!(outcome.progress.visited_bytes, trial.units * UNIT);
    assert_eq!(outcome.progress.free_bytes, trial.units * UNIT);
    assert_eq!(outcome.progress.discarded.0["nvme0n1"], trial.units * UNIT);
}

#[test]
fn cancel_drops_the_checkpoint() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        if call == 2 {
            world.stop.request(StopRequest::Cancel);
        }
        None
    });
    let (outcome, _) = trial.run();
    assert_eq!(outcome.ended, Ended::Cancelled);
    assert_eq!(trial.state.checkpoint(&trial.key()).unwrap(), None);
}

#[test]
fn a_stop_in_the_survey_ends_the_pass_and_changes_nothing() {
    let mut trial = Trial::new(World::new());
    trial.stop_in_survey = Some(StopRequest::Signal(15));
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Signal(15));
    assert_eq!(outcome.survey, None);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Begins { .. }))
    );
    assert!(trial.world.calls.borrow().is_empty());
    assert_eq!(trial.state.checkpoint(&trial.key()).unwrap(), None);

    // The checkpoint of an earlier session is left as it is; a cancel drops it.
    trial.world.stop.clear();
    trial.trouble = Box::new(|world, call| {
        (call == 2).then(|| {
            world.stop.request(StopRequest::Signal(2));
            TrimError::Stopped
        })
    });
    assert_eq!(trial.run().0.ended, Ended::Signal(2));
    let earlier = trial.state.checkpoint(&trial.key()).unwrap();
    assert!(earlier.is_some());
    for (request, ended, left) in [
        (StopRequest::Signal(15), Ended::Signal(15), &earlier),
        (StopRequest::Cancel, Ended::Cancelled, &None),
    ] {
        trial.world.stop.clear();
        trial.stop_in_survey = Some(request);
        assert_eq!(trial.run().0.ended, ended);
        assert_eq!(&trial.state.checkpoint(&trial.key()).unwrap(), left);
    }
}

#[test]
fn requested_end_of_a_pass() {
    let trial = Trial::new(World::new());
    let stop = Stop::default();
    let ended = || requested_end(&stop, &trial.state, &trial.key());
    assert_eq!(ended(), None);
    stop.request(StopRequest::Signal(1));
    assert_eq!(ended(), Some(Ended::Signal(1)));
    stop.clear();
    stop.request(StopRequest::Deadline);
    let reason = DEADLINE_PASSED.to_owned();
    assert_eq!(ended(), Some(Ended::Stopped { reason }));
    stop.clear();
    stop.request(StopRequest::Cancel);
    assert_eq!(ended(), Some(Ended::Cancelled));
}

#[test]
fn a_stack_that_swallows_discards_ends_the_pass() {
    let mut world = World::new();
    world.passes = false;
    let mut trial = Trial::new(world);
    let (outcome, _) = trial.run();
    let Ended::Swallowed(swallowed) = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert_eq!(swallowed.device.as_deref(), Some("dm-0"));
    assert_eq!(swallowed.passed_bytes, 0);
    // The next pass starts over, because nothing of this one arrived.
    assert_eq!(trial.state.checkpoint(&trial.key()).unwrap(), None);
    assert!(swallowed.taken_bytes < trial.units * UNIT);
}

#[test]
fn deadline_uses_the_monotonic_clock() {
    let mut trial = Trial::new(World::new());
    trial.options.deadline = Some(Duration::from_secs(4));
    trial.options.settings.rate_bytes_per_s = Some(UNIT);
    trial.trouble = Box::new(|world, call| {
        world
            .wall_off_s
            .set(if call == 0 { 86_400 } else { -86_400 });
        None
    });
    let (outcome, _) = trial.run();
    let Ended::Stopped { reason } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(reason.contains("deadline"), "{reason}");
    assert!(trial.state.checkpoint(&trial.key()).unwrap().is_some());
    let slept = trial.world.now.get();
    assert!(slept < Duration::from_secs(30), "{slept:?}");
}

struct OpenAfter(Timestamp);

impl Gate for OpenAfter {
    fn closed(&mut self, now: Timestamp) -> Option<Closed> {
        (now < self.0).then(|| Closed {
            reason: "outside of --window".to_owned(),
            opens_at: Some(self.0),
        })
    }
}

#[test]
fn a_pass_waits_for_its_window() {
    let mut trial = Trial::new(World::new());
    let opens_at = Timestamp::from_second(1_800_003_600).unwrap();
    trial.gate = Box::new(OpenAfter(opens_at));
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    assert!(trial.world.now.get() >= Duration::from_hours(1));
    // Housekeeping keeps running in the meantime.
    assert!(trial.world.housekeeping_runs.get() > 1000);
    let waits = events.iter().filter(
        |event| matches!(event, Event::Waiting { reason, .. } if reason == "outside of --window"),
    );
    assert_eq!(waits.count(), 1);
}

struct ClosesAt(Timestamp);

impl Gate for ClosesAt {
    fn closed(&mut self, now: Timestamp) -> Option<Closed> {
        (now >= self.0).then(|| Closed {
            reason: "the window has closed".to_owned(),
            opens_at: None,
        })
    }
}

#[test]
fn a_window_that_closes_stops_the_pass_resumably() {
    let mut trial = Trial::new(World::new());
    trial.options.settings.rate_bytes_per_s = Some(UNIT);
    trial.gate = Box::new(ClosesAt(Timestamp::from_second(1_800_000_010).unwrap()));
    let (outcome, _) = trial.run();
    assert!(matches!(outcome.ended, Ended::Stopped { .. }));
    let checkpoint = trial.state.checkpoint(&trial.key()).unwrap().unwrap();
    assert!(checkpoint.cursor.next_bytes > 0);
    assert!(checkpoint.cursor.next_bytes < trial.units * UNIT);
}

#[test]
fn unsplittable_step_needs_consent() {
    let mut trial = Trial::new(World::new());
    trial.units = 1024;
    trial.unsplittable = true;
    let (outcome, events) = trial.run();
    let Ended::Stopped { reason } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(
        reason.contains("a rock") && reason.contains("--accept-stall 2s"),
        "{reason}"
    );
    assert!(trial.world.calls.borrow().is_empty());
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Unsplittable { .. }))
    );

    trial.options.accept_stall = Some(Duration::from_secs(2));
    assert_eq!(trial.run().0.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
}

#[test]
fn space_skipped_by_xfs_is_reported() {
    for (eighths, fs_type, expected) in [(1, "xfs", true), (0, "xfs", false), (1, "ext4", false)] {
        let mut world = World::new();
        world.skipped_eighths = eighths;
        let mut trial = Trial::new(world);
        trial.target.identity.fs_type = fs_type.to_owned();
        let (outcome, events) = trial.run();
        assert_eq!(outcome.ended, Ended::Complete);
        let said = events.iter().any(
            |event| matches!(event, Event::Warning(text) if text.contains("32 MiB were not discarded")),
        );
        assert_eq!(said, expected, "{fs_type} {eighths}: {events:?}");
    }
}

#[test]
fn a_walk_that_does_not_advance_ends() {
    let mut trial = Trial::new(World::new());
    trial.stuck = true;
    let (reason, resumable) = trial.fail();
    assert!(reason.contains("lead nowhere"), "{reason}");
    assert!(!resumable);
    assert_eq!(trial.world.calls.borrow().len(), 1);
}

/// An extent that is busy, so that nothing of its first part is discarded, failed the pass of a sound XFS.
#[test]
fn a_step_may_leave_the_cursor_where_it_is() {
    let mut trial = Trial::new(World::new());
    trial.lags = true;
    let (outcome, _) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
}

#[test]
fn removed_drive_is_named() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        world.gone.set(call == 3);
        None
    });
    let (reason, resumable) = trial.fail();
    assert!(reason.contains("nvme0n1 is gone"), "{reason}");
    assert!(resumable);
}

#[test]
fn another_filesystem_on_the_mount_point_ends_it() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|_, call| {
        (call == 3).then(|| {
            TrimError::Target(TargetError::Changed {
                mount_point: "/data".to_owned(),
                expected: "xfs 1111".to_owned(),
                found: "ext4 2222".to_owned(),
            })
        })
    });
    let (reason, _) = trial.fail();
    assert!(reason.contains("ext4 2222"), "{reason}");
}

#[test]
fn a_state_directory_that_fails_ends_it() {
    let mut trial = Trial::new(World::new());
    let directory = trial.state.state_dir.clone();
    trial.options.settings.rate_bytes_per_s = Some(UNIT);
    trial.trouble = Box::new(move |_, call| {
        if call == 1 {
            std::fs::remove_dir_all(&directory).unwrap();
        }
        None
    });
    let (reason, resumable) = trial.fail();
    assert!(reason.contains("checkpoint"), "{reason}");
    assert!(resumable);
}

#[test]
fn child_killed_by_a_signal_first_is_not_a_failure() {
    // systemd sends SIGTERM to the whole control group.
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        (call == 2).then(|| {
            world.stop.request(StopRequest::Signal(15));
            TrimError::Died("killed by SIGTERM".to_owned())
        })
    });
    assert_eq!(trial.run().0.ended, Ended::Signal(15));
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|_, _| Some(TrimError::Died("killed by SIGKILL".to_owned())));
    let (reason, resumable) = trial.fail();
    assert!(reason.contains("SIGKILL") && resumable, "{reason}");
}

#[test]
fn uncounted_drive_does_not_swallow() {
    let mut world = World::new();
    world.counts_reads = false;
    world.passes = false;
    let mut trial = Trial::new(world);
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    assert!(events.iter().any(
        |event| matches!(event, Event::Warning(text) if text.contains("nvme0n1") && text.contains("iostats"))
    ));
    // Unknown, rather than zero.
    assert_eq!(outcome.progress.discarded.0.get("nvme0n1"), None);
}

#[test]
fn unresponsive_drives_are_not_trimmed() {
    let mut world = World::new();
    world.answers = false;
    let mut trial = Trial::new(world);
    let Ended::Stopped { reason } = trial.run().0.ended else {
        panic!("there was nothing to judge by");
    };
    assert!(reason.contains("too few"), "{reason}");
    assert!(trial.world.calls.borrow().is_empty());
}

#[test]
fn identical_steps_are_announced_once() {
    let mut trial = Trial::new(World::new());
    trial.unsplittable = true;
    // 128 MiB, like a block group of ext4: above the target stall, and allowed.
    trial.rock_units = 32;
    trial.units = 640;
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    let announced = events
        .iter()
        .filter(|event| matches!(event, Event::Unsplittable { .. }));
    assert!((1..=2).contains(&announced.count()));
}

#[test]
fn unsupported_call_is_not_resumable() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|_, _| {
        Some(TrimError::Kernel(std::io::Error::from_raw_os_error(
            rustix::io::Errno::OPNOTSUPP.raw_os_error(),
        )))
    });
    let (outcome, _) = trial.run();
    assert!(matches!(
        outcome.ended,
        Ended::Failed {
            resumable: false,
            ..
        }
    ));
}

#[test]
fn a_damaged_filesystem_is_named_with_its_checker() {
    for errno in [rustix::io::Errno::UCLEAN, rustix::io::Errno::BADMSG] {
        let mut trial = Trial::new(World::new());
        trial.trouble = Box::new(move |_, call| {
            (call == 2)
                .then(|| TrimError::Kernel(std::io::Error::from_raw_os_error(errno.raw_os_error())))
        });
        let (reason, resumable) = trial.fail();
        assert!(
            reason.contains("damaged") && reason.contains("xfs_repair"),
            "{reason}"
        );
        assert!(!resumable);
    }
}

#[test]
fn kernels_without_discard_counters_are_still_trimmed() {
    let mut world = World::new();
    world.counts_discards = false;
    let mut trial = Trial::new(world);
    let (outcome, _) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
    assert!(
        !outcome.measurable,
        "bytes among the writes are no bytes discarded"
    );
    assert!(outcome.progress.discarded.0.is_empty());
    assert_eq!(outcome.progress.visited_bytes, trial.units * UNIT);
}
