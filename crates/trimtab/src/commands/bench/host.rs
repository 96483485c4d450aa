//! This host beside a trial: facts, jobs and their logs, trim debt.

use super::facts::{self as recorded, LastPasses};
use crate::commands::{STATE_DIR, source};
use crate::error::CommandError;
use bench::trial::{Jobs, Place, discards_online};
use bench::validity::{Limits, TrimDebt};
use explain::JobRuns;
use explain::job_runs::{self, Clock};
use facts::Skipped;
use facts::host::{DiscardLimits, DriveWrites, Host, Job, Mount};
use host::job_logs::{self, JobHost};
use host::parse::crontab_jobs::name_by_program;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schedule::CronFlavor;
use std::net::{ToSocketAddrs, UdpSocket};
use std::path::Path;
use trim::audit::Earlier;
use trim::debt::{Written, last_pass, written};

/// What is known of this host.
pub(super) struct ThisHost {
    /// The host as it runs, for its logs: no bundle has any.
    live: source::Opened,
    /// Its facts.
    pub host: Host,
    jobs: Vec<Job>,
    name: Option<String>,
    clock: Clock,
    /// Of whoever may read the audit log; `None` if that is this process.
    last_passes: Option<LastPasses>,
}

impl ThisHost {
    /// Reads it, or what `trimtab bench facts` wrote of it.
    ///
    /// # Errors
    /// When it cannot be read, or `facts` are not of this host since it started.
    pub(super) fn read(facts: Option<&Path>) -> Result<Self, CommandError> {
        let live = source::live();
        let stored = facts.map(recorded::open).transpose()?;
        let (opened, last_passes) = match stored {
            Some((opened, last_passes)) => (&{ opened }, Some(last_passes)),
            None => (&live, None),
        };
        let (host, _) = source::read(opened, &[], &[], false)?;
        let zone = host
            .time_zone
            .as_deref()
            .and_then(|name| schedule::parse_zone(name).ok());
        let (cron, _) = CronFlavor::of_host(&host);
        let mut jobs = host.jobs.clone().unwrap_or_default();
        jobs.retain(Job::is_active);
        name_by_program(&mut jobs);
        Ok(Self {
            name: host.platform.host_name.clone(),
            clock: Clock {
                zone: zone.unwrap_or(TimeZone::UTC),
                cron,
            },
            jobs,
            host,
            last_passes,
            live,
        })
    }

    /// The last complete pass of `trimtab trim` on a filesystem.
    fn last_pass(&self, mount: &Mount) -> Option<Earlier> {
        match &self.last_passes {
            Some(recorded) => recorded.get(&mount.mount_point).cloned(),
            None => last_pass(&self.host, mount, Path::new(STATE_DIR)),
        }
    }

    /// Its jobs, if it was possible to read any.
    pub(super) fn jobs(&self) -> Option<&dyn Jobs> {
        self.host.jobs.is_some().then_some(self as &dyn Jobs)
    }
}

impl Jobs for ThisHost {
    fn runs(&self, from: Timestamp, until: Timestamp, unread: &mut Vec<Skipped>) -> Vec<JobRuns> {
        let mut skipped = Vec::new();
        let host = JobHost {
            source: self.live.source.as_ref(),
            jobs: &self.jobs,
            name: self.name.as_deref(),
        };
        let logs = job_logs::read(&host, (from, until), &self.clock.zone, &mut skipped);
        // That there is nothing in a log is no gap in it.
        unread.extend(skipped.drain(..).filter(|log| log.needs.is_some()));
        if self.jobs.is_empty() {
            return Vec::new();
        }
        let mut runs = job_runs::runs(&self.jobs, &self.clock, &logs, (from, until), &mut skipped);
        // What cannot be read of schedules was said when the facts were. What only a log knows is no schedule.
        runs.retain(|one| self.jobs.iter().any(|job| job.name == one.name));
        runs
    }

    fn zone(&self) -> &TimeZone {
        &self.clock.zone
    }
}

/// Whether a name is an address of this host: the kernel then sends to it from itself.
pub(super) fn is_here(host: &str, port: u16) -> bool {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(mut addresses) = (name, port).to_socket_addrs() else {
        return false;
    };
    addresses.any(|address| {
        if address.ip().is_loopback() {
            return true;
        }
        let any = if address.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        // Connecting a datagram socket sends nothing, but chooses the address to send from.
        UdpSocket::bind(any)
            .and_then(|socket| {
                socket.connect(address)?;
                socket.local_addr()
            })
            .is_ok_and(|local| local.ip() == address.ip())
    })
}

/// What the drive of a device itself counts; `None` if it does not tell.
pub(super) fn drive_writes(device: &Path) -> Option<DriveWrites> {
    let name = device.file_name()?.to_str()?;
    let (host, _) = source::read(&source::live(), &[], &[], true).ok()?;
    let mut drives = host.drive_writes.into_iter();
    drives.find(|drive| drive.drive == name)
}

/// What was written to the server's drives since their last complete trim, of the filesystem with the most in
/// proportion to its free space; `None` if that is not known well enough of one of them to judge by, or if no drive
/// accepts discards.
pub(super) fn trim_debt(here: &ThisHost, place: &Place) -> Option<TrimDebt> {
    let host = &here.host;
    let mut worst: Option<TrimDebt> = None;
    for point in &place.mount_points {
        let mount = host.mount_of_path(point)?;
        let accepts = host.stack_of(mount).and_then(|stack| stack.top().discard);
        if accepts.and_then(DiscardLimits::accepts) != Some(true) {
            continue;
        }
        let debt = |written_bytes, is_at_least| TrimDebt {
            written_bytes,
            is_at_least,
            free_bytes: mount.usage.as_ref().map_or(0, |usage| usage.free_bytes),
        };
        let limit = Limits::default().trim_debt * bytes(debt(0, false).free_bytes);
        let found = if discards_online(mount) {
            debt(0, false)
        } else {
            match written(host, mount, here.last_pass(mount).as_ref())? {
                Written::Exactly(written) => debt(written, false),
                Written::AtMost(written) if bytes(written) <= limit => debt(written, false),
                Written::AtLeast(written) if bytes(written) > limit => debt(written, true),
                Written::AtMost(_) | Written::AtLeast(_) => return None,
            }
        };
        let share = |debt: &TrimDebt| bytes(debt.written_bytes) / bytes(debt.free_bytes).max(1.0);
        worst = worst
            .filter(|worst| share(worst) >= share(&found))
            .or(Some(found));
    }
    worst
}

#[allow(clippy::cast_precision_loss)] // a share
fn bytes(bytes: u64) -> f64 {
    bytes as f64
}
