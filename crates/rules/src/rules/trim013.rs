//! # TRIM013: a trim that runs too rarely for the write rate
//!
//! ## What it finds
//! A store's data on flash whose trim runs every few days or less often, while more is written
//! between two trims than the drives have room for: free space plus spare area.
//!
//! ## Why it hurts
//! Right after a trim the drive may use all that the filesystem has free, besides its own spare
//! area, to write into. Each write uses up some of it, and what is deleted does not come back before
//! the next trim. Once more has been written than there was room, every write needs garbage
//! collection with the spare area alone: nightly benchmarks lost throughput from day to day and
//! recovered on the day of the weekly trim; daily trims made the curve flat.
//!
//! ## Evidence
//! Bytes written since boot on each drive (`stat`) and the uptime; the free space of the filesystems
//! on these drives; the job's schedule. The spare area is assumed to be 7 % of the drives, which is
//! what client drives have; drives for servers have up to 28 %. What is overwritten in place comes
//! back at once, so this is the worst case; stores that write new files and delete old ones, as
//! Lucene and LSM trees do, come close to it.
//!
//! ## Remedy
//! A shorter interval: `trimtab plan --apply --every day /data` puts a daily paced trim in place of the job. Or an
//! override of the present timer with another calendar, for example every third day
//! (`OnCalendar=*-*-1/3 03:00:00`).
//!
//! ## Risk
//! A trim at the shorter interval has less to do, but the first, overdue one takes long. It must
//! still be a quiet time: see TRIM007.
//!
//! ## When it is silent
//! Without a store; where it is unknown whether flash is below; where discards are lost or made
//! online; where no job trims (TRIM002); for daily trims. Skipped within a day of boot, where free
//! space or counters are unknown, and before Linux 4.18, which counts discards as writes.
//!
//! ## References
//! Linux, Documentation/block/stat.rst; Elastic, "Is your Elasticsearch trimmed?" (2016).

use crate::context::Context;
use crate::outcome::Outcome;
use crate::quiet_slot::QuietTimes;
use crate::rule::{Check, Needs, Rule};
use crate::times::{self, HostClock};
use crate::trim_jobs::TrimJob;
use crate::trim_room::{self, DAY_S, Room};
use crate::volume::Volume;
use crate::{finding, shell, trim_remedy, trim_state, wording};
use facts::{Evidence, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM013",
    title: "a trim that runs too rarely for the write rate",
    source: include_str!("trim013.rs"),
    check: Check::Host(Needs::Devices, check),
};

/// Trims at this interval or more often are not reported: a shorter interval would not be quiet.
const SHORT_INTERVAL_S: f64 = 1.5 * DAY_S;

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(trims) = cx.trim_jobs_or_skip(RULE.id, out) else {
        return;
    };
    let clock = HostClock::of(cx.host);
    let quiet = QuietTimes::of(cx);
    for volume in cx.volumes_in_time() {
        if volume.stores.is_empty() || !trim_state::decays_without_trim(cx, volume) {
            continue;
        }
        // The most frequent of several jobs counts.
        let most_frequent = trims
            .reaching(volume)
            .into_iter()
            .filter_map(|trim| Some((clock.period_s(trim.job, cx.now)?, trim)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b));
        let Some((period_s, trim)) = most_frequent else {
            continue;
        };
        if period_s <= SHORT_INTERVAL_S {
            continue;
        }
        match trim_room::of(cx, volume) {
            Ok(room) => judge(cx, &quiet, volume, (trim, period_s), &room, out),
            Err((why, needs)) => out.skip(
                format!("{} on {}", RULE.id, wording::mount_point(volume)),
                why,
                Some(needs),
            ),
        }
    }
}

fn judge(
    cx: &Context<'_>,
    quiet: &QuietTimes<'_, '_>,
    volume: &Volume<'_>,
    (trim, period_s): (&TrimJob<'_>, f64),
    room: &Room,
    out: &mut Outcome,
) {
    let written_bytes = room.written_bytes_per_day * period_s / DAY_S;
    let (room_bytes, Some(days)) = (room.bytes(), room.days()) else {
        return;
    };
    if written_bytes <= room_bytes {
        return;
    }
    let job = wording::job_name(trim.job);
    let interval = units::seconds(period_s);
    let mut finding = finding::about_volume(
        &RULE,
        Severity::Warning,
        volume,
        format!(
            "{job} trims every {interval}, but the drives run out of erased blocks after {}",
            in_days(days)
        ),
    );
    finding.why = format!(
        "The drives write about {} a day, {} between two trims. They have room for {}: {} free and \
         an assumed spare area of 7 %. After {} each write has to wait for garbage collection, \
         which also copies deleted data, until the next trim.",
        units::size::bytes_estimate(room.written_bytes_per_day),
        units::size::bytes_estimate(written_bytes),
        units::size::bytes_estimate(room_bytes),
        units::size::bytes_estimate(room.free_bytes),
        in_days(days),
    );
    let drives = volume.stack.data_drives().take(wording::EVIDENCE_MAX);
    finding.evidence.extend(drives.filter_map(|drive| {
        Some(Evidence::new(
            format!("{}/stat: bytes written", drive.sysfs_path),
            drive.counters?.written_bytes,
        ))
    }));
    if let Some(usage) = volume.mount.usage {
        finding.add_evidence(
            format!("statfs {}: bytes free", wording::mount_point(volume)),
            usage.free_bytes,
        );
    }
    finding.evidence.extend(times::trigger_evidence(trim.job));
    finding.remedy = remedies(cx, quiet, volume, trim, days);
    out.findings.push(finding);
}

fn remedies(
    cx: &Context<'_>,
    quiet: &QuietTimes<'_, '_>,
    volume: &Volume<'_>,
    trim: &TrimJob<'_>,
    days: f64,
) -> Vec<Remedy> {
    // Whole days, rounded down; trims more often than daily would hardly be in a quiet period.
    let slot = quiet.every(whole_days(days));
    let own_time = format!(
        "{} is only an example. The first, overdue pass takes long; later ones have less to do.",
        slot.start_words()
    );
    let own = match &trim.job.timer {
        Some(timer) => trim_remedy::reschedule_timer(
            &timer.unit,
            slot,
            format!("Trim more often, in a quiet period. {own_time}"),
        ),
        None => Remedy::advice(format!(
            "Trim more often, in a quiet period. {own_time} Its time is set in {}, for example \
             `{}`.",
            shell::printable(&trim.job.defined_in),
            slot.cron()
        ))
        .risk(trim_remedy::FIRST_PASS),
    };
    let mut remedies = Vec::new();
    if trim.is_unpaced() {
        let mut paced = trim_remedy::replace_by_paced(cx, &[trim], volume);
        if let Some(command) = &mut paced.command {
            command.push_str(" --every day");
        }
        remedies.push(paced);
    }
    remedies.push(own);
    if days < 1.0 {
        remedies.push(Remedy::advice(
            "Even a daily trim is too rare for this write rate: use more free space, drives with a \
             larger spare area, or online discard after a test.",
        ));
    }
    remedies
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Clamped to a month.
fn whole_days(days: f64) -> u32 {
    days.clamp(1.0, 31.0).floor() as u32
}

fn in_days(days: f64) -> String {
    if days < 1.0 {
        "less than a day".to_owned()
    } else {
        units::seconds(days * DAY_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, md, nvme, only, virtio};
    use crate::test_jobs::{LISTED_IN, fstrim_timer, jobs, timer};
    use facts::host::{BlockDevice, IoCounters};

    const GIB: u64 = 1 << 30;

    fn with_written(mut device: BlockDevice, written_bytes: u64) -> BlockDevice {
        device.counters = Some(IoCounters {
            written_bytes,
            discards: Some(0),
            discarded_bytes: Some(0),
            ..IoCounters::default()
        });
        device
    }

    /// A drive of 1 TiB, 256 GiB free: room for 256 + 0.07 x 1024 = 327.68 GiB. 30 days of uptime.
    fn host(written_per_day_bytes: u64) -> TestHost {
        TestHost::new()
            .device(with_written(nvme("nvme0n1"), 30 * written_per_day_bytes))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .elasticsearch("/data")
            .with(jobs(vec![fstrim_timer()]))
    }

    #[test]
    fn writes_exceed_the_room_between_trims() {
        // 7 x 100 GiB against 327.68 GiB: the room lasts 3.3 days.
        let outcome = host(100 * GIB).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.title,
            "fstrim.timer trims every 7 days, but the drives run out of erased blocks after 3 \
             days 7 h"
        );
        assert!(finding.why.contains("100 GiB a day"), "{}", finding.why);
        assert!(finding.why.contains("327.7 GiB"), "{}", finding.why);
        assert_eq!(finding.remedy.len(), 2);
        let [paced, own] = finding.remedy.as_slice() else {
            panic!("{:?}", finding.remedy);
        };
        let command = paced.command.as_deref();
        assert_eq!(
            command,
            Some("trimtab plan --apply --fstab /data --every day")
        );
        assert!(own.text.contains("every 3 days"), "{}", own.text);
        let command = own.command.as_deref().expect("a command");
        assert!(command.contains("OnCalendar=*-*-1/3 03:00:00"), "{command}");
    }

    #[test]
    fn a_drive_that_is_written_over_daily_needs_more_than_a_schedule() {
        let outcome = host(1024 * GIB).check(&RULE);
        let finding = only(&outcome);
        assert!(finding.title.ends_with("after less than a day"));
        assert!(finding.remedy[1].text.contains("every day"));
        assert_eq!(finding.remedy.len(), 3);
    }

    #[test]
    fn the_boundary_is_the_room() {
        // 46.8 GiB a day are 327.6 GiB a week, 46.9 are 328.3.
        assert_eq!(host(468 * GIB / 10).check(&RULE), Outcome::default());
        assert_eq!(host(469 * GIB / 10).check(&RULE).findings.len(), 1);
    }

    #[test]
    fn a_mirror_writes_everything_twice_and_has_the_room_twice() {
        let mirror = |per_day: u64| {
            TestHost::new()
                .devices([
                    with_written(nvme("nvme0n1"), 30 * per_day),
                    with_written(nvme("nvme1n1"), 30 * per_day),
                ])
                .device(md("md0", "raid1", &["nvme0n1", "nvme1n1"]))
                .mount("/data", "md0", "xfs", "rw")
                .elasticsearch("/data")
                .with(jobs(vec![fstrim_timer()]))
                .check(&RULE)
        };
        assert_eq!(mirror(468 * GIB / 10), Outcome::default());
        assert_eq!(mirror(469 * GIB / 10).findings.len(), 1);
    }

    #[test]
    fn free_space_of_other_filesystems_counts() {
        use crate::test_host::partition;
        let outcome = TestHost::new()
            .device(with_written(nvme("nvme0n1"), 30 * 60 * GIB))
            .devices([
                partition("nvme0n1p1", "nvme0n1"),
                partition("nvme0n1p2", "nvme0n1"),
            ])
            .mount("/", "nvme0n1p1", "ext4", "rw")
            .mount("/data", "nvme0n1p2", "xfs", "rw")
            .elasticsearch("/data")
            .with(jobs(vec![fstrim_timer()]))
            .check(&RULE);
        // 420 GiB a week against 2 x 256 + 71.68 GiB.
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn daily_trims_and_other_media_are_silent() {
        let daily = host(1024 * GIB).with(jobs(vec![timer("fstrim.timer", "daily", LISTED_IN)]));
        assert_eq!(daily.check(&RULE), Outcome::default());
        let no_store = host(1024 * GIB).with(|host| host.stores.clear());
        assert_eq!(no_store.check(&RULE), Outcome::default());
        let disk = TestHost::new()
            .device(with_written(virtio("vda"), 1 << 50))
            .mount("/data", "vda", "xfs", "rw")
            .elasticsearch("/data")
            .with(jobs(vec![fstrim_timer()]));
        assert_eq!(disk.check(&RULE), Outcome::default());
        let untrimmed = host(1024 * GIB).with(jobs(Vec::new()));
        assert_eq!(untrimmed.check(&RULE), Outcome::default());
    }

    #[test]
    fn missing_facts_are_named() {
        let why = |host: TestHost| {
            let outcome = host.check(&RULE);
            assert_eq!(outcome.findings, []);
            let [skipped] = outcome.skipped.as_slice() else {
                panic!("{:#?}", outcome.skipped);
            };
            format!("{}: {}", skipped.what, skipped.why)
        };
        let old_kernel = host(GIB).with(|host| {
            host.devices[0].counters = Some(IoCounters::default());
        });
        assert_eq!(
            why(old_kernel),
            "TRIM013 on /data: this kernel counts discards as writes"
        );
        let just_booted = host(GIB).with(|host| host.platform.uptime_s = Some(3600.0));
        assert!(why(just_booted).contains("less than a day"));
        let no_uptime = host(GIB).with(|host| host.platform.uptime_s = None);
        assert!(why(no_uptime).contains("uptime is unknown"));
        let no_usage = host(GIB).with(|host| host.mounts[0].usage = None);
        assert!(why(no_usage).contains("free space of /data"));
        let no_counters = host(GIB).with(|host| host.devices[0].counters = None);
        assert!(why(no_counters).contains("nvme0n1"));
        assert!(why(host(GIB).with(|host| host.jobs = None)).starts_with("TRIM013: "));
    }
}
