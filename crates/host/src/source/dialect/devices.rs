//! `sys/block` from `lsblk -O -P`, proc/partitions, proc/diskstats, `dmsetup` and `ls -R /sys/block`.

use super::made::{Made, is_plain};
use super::outputs::Outputs;
use crate::parse::dm_table;
use crate::parse::outputs::lsblk;
use crate::source::Source;
use facts::host::DeviceNumber;
use linux::device_number;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// More devices than any real host has.
const DEVICES_MAX: usize = 20_000;
/// sysfs counts sizes in these.
const SECTOR_BYTES: u64 = 512;

/// What mounts need to know of devices.
#[derive(Default)]
pub(super) struct Devices {
    by_path: HashMap<String, DeviceNumber>,
    by_mount_point: HashMap<String, DeviceNumber>,
}

impl Devices {
    /// Returns the number of the device at a path below `/dev`.
    pub(super) fn number_of(&self, path: &str) -> Option<DeviceNumber> {
        self.by_path.get(path).copied()
    }

    /// Returns the number of the device that is mounted at a path, as lsblk saw it.
    pub(super) fn number_at(&self, mount_point: &str) -> Option<DeviceNumber> {
        self.by_mount_point.get(mount_point).copied()
    }
}

/// What is known of a device.
#[derive(Default)]
struct Device<'t> {
    number: Option<DeviceNumber>,
    size_bytes: Option<u64>,
    /// The disk that a partition is on.
    disk: Option<String>,
    /// Devices directly below.
    below: BTreeSet<String>,
    /// One of its lines in lsblk's output.
    line: Option<&'t lsblk::Line<'t>>,
}

pub(super) fn make(tree: &dyn Source, outputs: &Outputs<'_>, made: &mut Made) -> Devices {
    let text = |path| outputs.file(path, "sys/block");
    let output = |commands: &[&str]| outputs.first(commands).unwrap_or_default();
    let listed = output(&["lsblk_-O_-P"]);
    let mut lines = lsblk::parse(&listed, DEVICES_MAX + 1);
    if lines.len() > DEVICES_MAX {
        lines.truncate(DEVICES_MAX);
        made.remark(format!(
            "only the first {DEVICES_MAX} lines of lsblk were read"
        ));
    }
    let mut devices: BTreeMap<String, Device<'_>> = BTreeMap::new();
    for line in &lines {
        add_line(line, &mut devices);
    }
    for line in text("proc/partitions").lines().skip(1) {
        add_partition(line, &mut devices);
    }
    let names: BTreeSet<String> = devices.keys().cloned().collect();
    for (name, device) in &mut devices {
        if device.line.is_none() {
            device.disk = disk_of(name, &names);
        }
    }
    let tables = output(&["dmsetup_table"]);
    if !tables.is_empty() {
        made.commands
            .insert("dmsetup_table", tables.clone().into_bytes());
    }
    let mapped = mapped(&output(&["dmsetup_info_-c"]));
    add_targets(&tables, &mapped, &mut devices);
    let mut rounded = 0_usize;
    for (name, device) in devices.iter().take(DEVICES_MAX) {
        rounded += usize::from(make_device(tree, name, device, made));
        if let (Some(number), true) = (device.number, name.starts_with("dm-")) {
            let known = mapped.iter().find(|known| known.number == number);
            let of_lsblk = device.line.and_then(|line| line.get("NAME"));
            if let Some(named) = known.map(|known| known.name.as_str()).or(of_lsblk) {
                made.file(&format!("sys/block/{name}/dm/name"), named.as_bytes());
            }
            if let Some(known) = known {
                made.file(&format!("sys/block/{name}/dm/uuid"), known.uuid.as_bytes());
            }
        }
    }
    for line in text("proc/diskstats").lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        if let Some(name) = words.next().filter(|name| devices.contains_key(*name)) {
            let fields: Vec<&str> = words.collect();
            let path = format!("{}/stat", path_of(name, &devices[name]));
            made.file(&path, fields.join(" ").as_bytes());
        }
    }
    // What has no size is in neither list: a loop device that nothing is attached to.
    if !devices.is_empty() {
        for name in tree.list("sys/block").unwrap_or_default() {
            if !devices.contains_key(&name) && is_plain(&name) {
                made.file(&format!("sys/block/{name}/size"), b"0");
            }
        }
    }
    for line in output(&["ls_-lanR_.sys.block"]).lines() {
        if let Some((before, target)) = line.split_once(" -> ")
            && let Some(name) = before.rsplit(' ').next().filter(|name| is_plain(name))
        {
            made.links
                .insert(format!("sys/block/{name}"), target.to_owned());
        }
    }
    if rounded > 0 {
        made.remark(format!(
            "`lsblk` rounded the discard limits of {rounded} devices"
        ));
    }
    numbers(&devices, &lines, &mapped)
}

fn add_line<'t>(line: &'t lsblk::Line<'t>, devices: &mut BTreeMap<String, Device<'t>>) {
    // Before 2.20 there was no KNAME; of a disk or a partition it is the name.
    let Some(name) = line
        .get("KNAME")
        .or_else(|| line.get("NAME"))
        .filter(|name| is_plain(name))
    else {
        return;
    };
    let device = devices.entry(name.to_owned()).or_default();
    device.number = line
        .get("MAJ:MIN")
        .and_then(|text| device_number::parse(text.trim()));
    device.size_bytes = line.bytes("SIZE");
    device.line = Some(line);
    if let Some(below) = line.get("PKNAME").filter(|name| is_plain(name)) {
        // A partition of a multipath map is a map of its own.
        if line.get("TYPE") == Some("part") && name.starts_with(below) {
            device.disk = Some(below.to_owned());
        } else {
            device.below.insert(below.to_owned());
        }
    }
}

/// `  8        1     524288 sda1`: numbers, blocks of 1 KiB, name (proc(5)).
fn add_partition(line: &str, devices: &mut BTreeMap<String, Device<'_>>) {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [major, minor, blocks, name] = words[..] else {
        return;
    };
    let (Ok(major), Ok(minor), Ok(blocks)) = (major.parse(), minor.parse(), blocks.parse::<u64>())
    else {
        return;
    };
    if is_plain(name) {
        let device = devices.entry(name.to_owned()).or_default();
        device.number = Some(DeviceNumber { major, minor });
        device.size_bytes = blocks.checked_mul(1 << 10);
    }
}

/// The kernel names partitions after their disk: `sda1`, `nvme0n1p1`.
fn disk_of(name: &str, names: &BTreeSet<String>) -> Option<String> {
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let disk = match disk.strip_suffix('p') {
        Some(numbered) if numbered.ends_with(|c: char| c.is_ascii_digit()) => numbered,
        _ => disk,
    };
    (disk != name && names.contains(disk)).then(|| disk.to_owned())
}

/// A device of device-mapper.
struct Mapped {
    name: String,
    number: DeviceNumber,
    uuid: String,
}

/// `dmsetup info -c`: `Name Maj Min Stat Open Targ Event UUID`.
fn mapped(text: &str) -> Vec<Mapped> {
    text.lines()
        .take(DEVICES_MAX)
        .filter_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let (name, major, minor) = (words.first()?, words.get(1)?, words.get(2)?);
            Some(Mapped {
                name: (*name).to_owned(),
                number: DeviceNumber {
                    major: major.parse().ok()?,
                    minor: minor.parse().ok()?,
                },
                uuid: words.get(7).copied().unwrap_or_default().to_owned(),
            })
        })
        .collect()
}

/// What is below a device of device-mapper, where lsblk does not tell.
fn add_targets(tables: &str, mapped: &[Mapped], devices: &mut BTreeMap<String, Device<'_>>) {
    let names: HashMap<DeviceNumber, String> = devices
        .iter()
        .filter_map(|(name, device)| Some((device.number?, name.clone())))
        .collect();
    for table in dm_table::parse(tables).0 {
        let known = mapped
            .iter()
            .find(|known| dm_table::unmangle(&known.name) == table.name);
        let Some(device) = known
            .and_then(|known| devices.get_mut(names.get(&known.number)?))
            .filter(|device| device.line.is_none())
        else {
            continue;
        };
        let below = table.targets.iter().flat_map(|target| &target.devices);
        let below = below.filter_map(|number| names.get(number));
        device.below.extend(below.cloned());
    }
}

fn path_of(name: &str, device: &Device<'_>) -> String {
    match &device.disk {
        Some(disk) => format!("sys/block/{disk}/{name}"),
        None => format!("sys/block/{name}"),
    }
}

/// Makes the files of one device; returns whether its discard limits are lsblk's.
fn make_device(tree: &dyn Source, name: &str, device: &Device<'_>, made: &mut Made) -> bool {
    let path = path_of(name, device);
    if let Some(number) = device.number {
        made.file(&format!("{path}/dev"), number.to_string().as_bytes());
    }
    if let Some(bytes) = device.size_bytes {
        let sectors = bytes / SECTOR_BYTES;
        made.file(&format!("{path}/size"), sectors.to_string().as_bytes());
    }
    if device.disk.is_some() {
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        made.file(&format!("{path}/partition"), digits.as_bytes());
    }
    for below in &device.below {
        made.directory(&format!("{path}/slaves/{below}"));
    }
    if name.starts_with("md") {
        made.directory(&format!("{path}/md"));
    }
    let Some(line) = device.line else {
        return false;
    };
    for (column, attribute) in [
        ("RO", "ro"),
        ("ROTA", "queue/rotational"),
        ("RA", "queue/read_ahead_kb"),
        ("LOG-SEC", "queue/logical_block_size"),
        ("MIN-IO", "queue/minimum_io_size"),
        ("OPT-IO", "queue/optimal_io_size"),
        ("MODEL", "device/model"),
        ("SERIAL", "device/serial"),
        ("VENDOR", "device/vendor"),
        (
            "REV",
            if name.starts_with("nvme") {
                "device/firmware_rev"
            } else {
                "device/rev"
            },
        ),
    ] {
        if let Some(value) = line.get(column) {
            made.file(&format!("{path}/{attribute}"), value.trim().as_bytes());
        }
    }
    let mut is_rounded = false;
    for (column, attribute) in [
        ("DISC-GRAN", "queue/discard_granularity"),
        ("DISC-MAX", "queue/discard_max_bytes"),
    ] {
        let attribute = format!("{path}/{attribute}");
        if let Some(bytes) = line.bytes(column)
            && tree.stat(&attribute).is_err()
        {
            made.file(&attribute, bytes.to_string().as_bytes());
            is_rounded |= bytes > 0 && device.disk.is_none();
        }
    }
    is_rounded
}

fn numbers(
    devices: &BTreeMap<String, Device<'_>>,
    lines: &[lsblk::Line<'_>],
    mapped: &[Mapped],
) -> Devices {
    let mut found = Devices::default();
    for (name, device) in devices {
        if let Some(number) = device.number {
            found.by_path.insert(format!("/dev/{name}"), number);
        }
    }
    for known in mapped {
        found
            .by_path
            .insert(format!("/dev/mapper/{}", known.name), known.number);
    }
    for line in lines {
        let number = line
            .get("MAJ:MIN")
            .and_then(|text| device_number::parse(text.trim()));
        let Some(number) = number else {
            continue;
        };
        if let Some(path) = line.get("PATH") {
            found.by_path.insert(path.to_owned(), number);
        }
        if let Some(name) = line.get("NAME") {
            found.by_path.insert(format!("/dev/mapper/{name}"), number);
        }
        // MOUNTPOINTS holds several, one a line.
        let points = [line.get("MOUNTPOINT"), line.get("MOUNTPOINTS")];
        for point in points.into_iter().flatten().flat_map(str::lines) {
            found.by_mount_point.insert(point.to_owned(), number);
        }
    }
    found
}
