//! Mounts, filesystems and the block devices below them.

mod block;
pub(crate) mod drive_log;
mod read_ahead;
mod scsi;
mod stand_in;
mod usage;

pub(crate) use usage::read as read_usage;

use crate::command::Command;
use crate::filter::storage::RAID456_PATH;
use crate::parse::{dm_table, fstab, lvm_conf, mdstat, mountinfo};
use crate::source::Reader;
use crate::unread::Unread;
use facts::host::{BlockDevice, DeviceKind, Mount};
use facts::{Host, InputError, Skipped};
use std::collections::HashMap;

/// Reads mounts, fstab, crypttab, block devices, and the settings of LVM and md.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    let mountinfo = reader.text(mountinfo::PATH);
    if let Ok(text) = &mountinfo {
        let (mounts, errors) = mountinfo::parse(text);
        add_errors(host, &errors);
        // Errors are reported up to a number.
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        host.mounts_unread = lines.saturating_sub(mounts.len()) as u64;
        host.mounts = mounts;
        host.mounts
            .retain(|mount| !mountinfo::is_pseudo(&mount.fs_type));
    }
    if let Some((entries, errors)) = parsed(reader, fstab::PATH, fstab::parse, host) {
        add_errors(host, &errors);
        host.fstab = Some(entries);
    }
    if let Err(unread) = mountinfo {
        stand_in_for_mounts(host, &unread);
    }
    let crypttab = parsed(reader, fstab::CRYPTTAB_PATH, fstab::parse_crypttab, host);
    if let Some((entries, errors)) = crypttab {
        add_errors(host, &errors);
        host.crypttab = entries;
    }
    host.devices = block::read(reader, &mut host.skipped);
    add_mdstat(reader, host);
    add_dm_tables(reader, host);
    stand_in_for_devices(host);
    read_ahead::read(reader, host);
    host.lvm_issue_discards = lvm_issue_discards(reader, host);
    host.raid456_discards_safe = block::flag(reader, RAID456_PATH);
}

/// Takes fstab's lines for the mounts of a tree without mountinfo, and reports that.
fn stand_in_for_mounts(host: &mut Host, unread: &Unread) {
    host.mounts = stand_in::mounts_of_fstab(host.fstab.as_deref().unwrap_or_default());
    let instead = if host.mounts.is_empty() {
        ""
    } else {
        "; the lines of etc/fstab were checked instead, and what is mounted may differ"
    };
    let why = format!("{}: {unread}{instead}", mountinfo::PATH);
    host.skipped.push(Skipped::new("mounts", why, None));
}

/// Takes the devices that mounts name where none of them was read: a tree may hold a part of sysfs. Where
/// some were read, reports the mounts without one.
fn stand_in_for_devices(host: &mut Host) {
    let devices = host.device_index();
    let on_devices = host.mounts.iter().filter(|mount| mount.is_on_device());
    let (unseen, seen): (Vec<&Mount>, Vec<&Mount>) =
        on_devices.partition(|mount| devices.is_unseen(mount));
    if seen.is_empty() {
        host.unseen_devices = stand_in::devices_of_mounts(&host.mounts);
        if !host.unseen_devices.is_empty() {
            return;
        }
    }
    let mut points: Vec<&str> = unseen
        .iter()
        .map(|mount| mount.mount_point.as_str())
        .collect();
    points.dedup();
    if let Some((first, more)) = points.split_first() {
        let what = match more.len() {
            0 => format!("the device of {first}"),
            1 => format!("the devices of {first} and 1 more mount"),
            more => format!("the devices of {first} and {more} more mounts"),
        };
        let why = if unseen.iter().all(|mount| mount.fstab_line.is_some()) {
            "sys/block has no device of that name"
        } else {
            "sys/block has no device with its number"
        };
        host.skipped.push(Skipped::new(what, why, Some("sysfs")));
    }
}

/// Reads and parses a file; `None` if it is missing or cannot be read, which is recorded as skipped
/// unless the reader reports it itself.
fn parsed<T>(
    reader: &Reader<'_>,
    path: &str,
    parse: impl FnOnce(&str) -> T,
    host: &mut Host,
) -> Option<T> {
    match reader.text(path) {
        Ok(text) => Some(parse(&text)),
        Err(Unread::NotFound | Unread::Denied) => None,
        Err(unread) => {
            host.skipped
                .push(Skipped::new(path, unread.to_string(), None));
            None
        }
    }
}

/// Records malformed lines.
fn add_errors(host: &mut Host, errors: &[InputError]) {
    host.skipped.extend(errors.iter().map(|error| {
        let what = match error.line {
            Some(line) => format!("{} line {line}", error.source_name),
            None => error.source_name.clone(),
        };
        let why = format!("expected {}, found {:?}", error.expected, error.found);
        Skipped::new(what, why, None)
    }));
}

/// Fills in details of arrays that sysfs lacks.
fn add_mdstat(reader: &Reader<'_>, host: &mut Host) {
    let is_incomplete = |device: &BlockDevice| match &device.kind {
        DeviceKind::Md {
            level,
            raid_disks,
            array_state,
            ..
        } => level.is_none() || raid_disks.is_none() || array_state.is_none(),
        _ => false,
    };
    if !host.devices.iter().any(is_incomplete) {
        return;
    }
    let Some((arrays, errors)) = parsed(reader, mdstat::PATH, mdstat::parse, host) else {
        return;
    };
    add_errors(host, &errors);
    let arrays: HashMap<&str, &mdstat::Array> = arrays
        .iter()
        .map(|array| (array.name.as_str(), array))
        .collect();
    for device in host
        .devices
        .iter_mut()
        .filter(|device| is_incomplete(device))
    {
        let Some(array) = arrays.get(device.name.as_str()) else {
            continue;
        };
        if device.below.is_empty() {
            device.below.clone_from(&array.members);
            device.below.sort();
        }
        let DeviceKind::Md {
            level,
            chunk_bytes,
            raid_disks,
            array_state,
            sync_action,
        } = &mut device.kind
        else {
            continue;
        };
        *level = level.take().or_else(|| array.level.clone());
        *chunk_bytes = chunk_bytes.or(array.chunk_bytes);
        *raid_disks = raid_disks.or(array.raid_disks);
        *sync_action = sync_action.take().or_else(|| array.sync_action.clone());
        *array_state = array_state.take().or_else(|| {
            // mdstat's states in the terms of sysfs.
            let word = match (array.is_active, array.is_read_only) {
                (false, _) => "inactive",
                (true, true) => "readonly",
                (true, false) => "active",
            };
            Some(word.to_owned())
        });
    }
}

/// Fills in the tables of device-mapper devices. They are requested only if such a device exists.
fn add_dm_tables(reader: &Reader<'_>, host: &mut Host) {
    let is_dm = |device: &BlockDevice| matches!(device.kind, DeviceKind::DeviceMapper { .. });
    if !host.devices.iter().any(is_dm) {
        return;
    }
    let bytes = match reader.command(&Command::DmTable) {
        Ok(bytes) => bytes,
        Err(unread) => {
            let needs = (unread == Unread::Denied).then_some("root");
            host.skipped
                .push(Skipped::new("dm tables", unread.to_string(), needs));
            return;
        }
    };
    let (tables, errors) = dm_table::parse(&String::from_utf8_lossy(&bytes));
    add_errors(host, &errors);
    let mut tables: HashMap<String, Vec<_>> = tables
        .into_iter()
        .map(|table| (table.name, table.targets))
        .collect();
    for device in &mut host.devices {
        let DeviceKind::DeviceMapper {
            name: Some(name),
            targets,
            ..
        } = &mut device.kind
        else {
            continue;
        };
        *targets = tables.remove(&dm_table::unmangle(name));
        if targets.is_none() {
            host.skipped.push(Skipped::new(
                format!("dm table of {}", device.name),
                format!("no table of that name ({name}) was given"),
                None,
            ));
        }
    }
}

/// Returns `devices/issue_discards`: from lvmlocal.conf, otherwise from lvm.conf, otherwise LVM's
/// default; `None` if the configuration is missing or broken.
fn lvm_issue_discards(reader: &Reader<'_>, host: &mut Host) -> Option<bool> {
    let mut config = |path: &'static str| match reader.text(path) {
        Ok(text) => match lvm_conf::parse(path, &text) {
            Ok(config) => Ok(Some(config)),
            Err(error) => {
                add_errors(host, &[error]);
                Err(())
            }
        },
        Err(Unread::NotFound) => Ok(None),
        Err(Unread::Denied) => Err(()),
        Err(unread) => {
            host.skipped
                .push(Skipped::new(path, unread.to_string(), None));
            Err(())
        }
    };
    let local = config(lvm_conf::LOCAL_PATH);
    let main = config(lvm_conf::PATH);
    let (local, main) = (local.ok()?, main.ok()?);
    let own = local.and_then(|local| local.issue_discards());
    own.or_else(|| main.map(|main| main.issue_discards().unwrap_or(false)))
}

#[cfg(test)]
mod tests;
