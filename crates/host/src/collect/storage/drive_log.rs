//! Reads the drives' flash write counters.

use crate::command::{Command, DriveTool};
use crate::parse::drive_log::{Count, is_plain_name, parse};
use crate::source::Reader;
use crate::unread::Unread;
use facts::host::{BlockDevice, DeviceKind, DriveWrites, MediaWrites, ScsiTransport};
use facts::{Evidence, Host, Skipped};

/// More drives than any host has.
const DRIVES_MAX: usize = 256;
/// After this many timeouts, no further drive is queried.
const TIMEOUTS_MAX: usize = 3;

/// Queries every flash drive that has such counters: NVMe and SATA.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    let drives: Vec<&BlockDevice> = host.devices.iter().filter(|drive| counts(drive)).collect();
    let mut queries = DriveQueries {
        reader,
        timeouts: 0,
    };
    let found: Vec<DriveWrites> = drives
        .iter()
        .take(DRIVES_MAX)
        .map(|drive| queries.drive(drive))
        .collect();
    if drives.len() > DRIVES_MAX {
        host.skipped.push(Skipped::new(
            format!("media writes of {} drives", drives.len() - DRIVES_MAX),
            format!("only the first {DRIVES_MAX} are asked"),
            None,
        ));
    }
    host.drive_writes = found;
}

fn counts(drive: &BlockDevice) -> bool {
    let is_kind = match &drive.kind {
        DeviceKind::Nvme { .. } => true,
        DeviceKind::Scsi {
            vendor, transport, ..
        } => *transport == ScsiTransport::Ata || vendor.as_deref() == Some("ATA"),
        _ => false,
    };
    is_kind && drive.rotational != Some(true) && is_plain_name(&drive.name)
}

/// Why a number is unknown, and what would make it known.
#[derive(Clone)]
struct Missing {
    why: String,
    needs: Option<String>,
}

impl Missing {
    fn new(why: String, needs: Option<&str>) -> Self {
        let needs = needs.map(str::to_owned);
        Self { why, needs }
    }
}

struct DriveQueries<'r, 's> {
    reader: &'r Reader<'s>,
    timeouts: usize,
}

impl DriveQueries<'_, '_> {
    fn drive(&mut self, drive: &BlockDevice) -> DriveWrites {
        let mut found = DriveWrites {
            drive: drive.name.clone(),
            ..DriveWrites::default()
        };
        let is_nvme = matches!(drive.kind, DeviceKind::Nvme { .. });
        let (mut host_bytes, mut media) = self.ask(DriveTool::Smartctl, &drive.name);
        if is_nvme {
            if let Err(first) = host_bytes {
                // Either tool will do.
                host_bytes = self
                    .ask(DriveTool::NvmeSmartLog, &drive.name)
                    .0
                    .map_err(|second| Missing {
                        why: format!("{}; {}", first.why, second.why),
                        needs: first.needs.or(second.needs),
                    });
            }
            media = self.ask(DriveTool::NvmeOcp, &drive.name).1;
        }
        match host_bytes {
            Ok((count, evidence)) => {
                found.host_bytes = Some(count);
                found.evidence.push(evidence);
            }
            Err(missing) => skip(&mut found, "bytes written by hosts", &missing),
        }
        match media {
            Ok((count, evidence)) => {
                found.media = Some(count);
                found.evidence.push(evidence);
            }
            Err(missing) => skip(&mut found, "media writes", &missing),
        }
        found
    }

    /// Runs one tool and returns the host bytes and media writes.
    fn ask(&mut self, tool: DriveTool, drive: &str) -> (Known<u64>, Known<MediaWrites>) {
        let words = tool.words();
        let counts = if self.timeouts >= TIMEOUTS_MAX {
            let why = format!("{words} {drive}: not asked, since others did not answer");
            Err(Missing::new(why, None))
        } else {
            let command = Command::DriveLog {
                tool,
                drive: drive.to_owned(),
            };
            let answer = self.reader.command(&command);
            answer
                .and_then(|bytes| parse(tool, &bytes))
                .map_err(|unread| self.missing(tool, drive, &unread))
        };
        match counts {
            Ok(counts) => (
                known(counts.host_bytes, tool, drive, "by hosts"),
                known(counts.media, tool, drive, "to its flash"),
            ),
            Err(missing) => (Err(missing.clone()), Err(missing)),
        }
    }

    fn missing(&mut self, tool: DriveTool, drive: &str, unread: &Unread) -> Missing {
        let (words, package) = (tool.words(), tool.package());
        match unread {
            Unread::NotFound if self.reader.is_whole() => {
                Missing::new(format!("{words}: not installed"), Some(package))
            }
            Unread::NotFound | Unread::NotRecorded => {
                let why = format!("no answer of {words} {drive} was recorded");
                let needs = format!("a bundle collected by root, with {package}");
                Missing::new(why, Some(needs.as_str()))
            }
            Unread::Denied => {
                let why = format!("{words} {drive}: not asked, only root may");
                Missing::new(why, Some("root"))
            }
            // nvme-cli exits with the same status whatever the drive answered.
            Unread::Failed(status)
                if tool == DriveTool::NvmeOcp && status.starts_with("exit status") =>
            {
                let why = format!(
                    "{words} {drive}: {status}, as where a drive does not have this log or nvme-cli \
                     does not know it"
                );
                Missing::new(why, None)
            }
            _ => {
                self.timeouts += usize::from(matches!(unread, Unread::Timeout(_)));
                Missing::new(format!("{words} {drive}: {unread}"), None)
            }
        }
    }
}

type Known<T> = Result<(T, Evidence), Missing>;

fn known<T>(
    count: Result<Count<T>, String>,
    tool: DriveTool,
    drive: &str,
    whose: &str,
) -> Known<T> {
    let words = tool.words();
    match count {
        Ok(Count { value, key, shown }) => {
            let source = format!("{words} {drive}: {key}");
            let text = format!("{shown}, written {whose} since it was new");
            Ok((value, Evidence::new(source, text)))
        }
        Err(why) => Err(Missing::new(format!("{words} {drive}: {why}"), None)),
    }
}

fn skip(found: &mut DriveWrites, what: &str, missing: &Missing) {
    let what = format!("{what} of {}", found.drive);
    found.skipped.push(Skipped::new(
        what,
        missing.why.clone(),
        missing.needs.as_deref(),
    ));
}

#[cfg(test)]
mod tests;
