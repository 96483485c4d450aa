//! Draws a stack as a tree, with identical siblings drawn once.

use facts::Stack;
use facts::host::{BlockDevice, DeviceKind, DiscardLimits, ScsiTransport};
use page::Level;
use std::collections::HashMap;

/// Maximum number of name patterns per row.
const PATTERNS_MAX: usize = 4;

/// Builds the tree of a stack. `blamed_by` returns the rules that blame a device, and the severity
/// of the worst.
pub(crate) fn tree<'a>(
    stack: &Stack<'a>,
    blamed_by: impl Fn(&str) -> (Vec<&'a str>, Option<Level>),
) -> page::Tree {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); stack.layers.len()];
    for (index, layer) in stack.layers.iter().enumerate() {
        if let Some(above) = layer.above {
            below[above].push(index);
        }
    }
    page::Tree {
        title: "stack".to_owned(),
        nodes: vec![Node::of(stack, &below, 0, &blamed_by).shown()],
    }
}

/// One or several identical devices, with what is below them.
struct Node<'a> {
    names: Vec<&'a str>,
    kind: String,
    /// User-assigned name, which does not distinguish siblings.
    own_name: Option<&'a str>,
    discards: String,
    blamed_by: Vec<&'a str>,
    level: Option<Level>,
    below: Vec<Node<'a>>,
    /// Equal for nodes that only differ in their names.
    signature: String,
}

impl<'a> Node<'a> {
    fn of(
        stack: &Stack<'a>,
        below: &[Vec<usize>],
        index: usize,
        blamed_by: &impl Fn(&str) -> (Vec<&'a str>, Option<Level>),
    ) -> Self {
        let layer = &stack.layers[index];
        let device = layer.device;
        let children = below[index]
            .iter()
            .map(|index| Self::of(stack, below, *index, blamed_by));
        let children = merge(children.collect());
        let (kind, discards, (blamed_by, level)) = if layer.repeated {
            ("see above".to_owned(), String::new(), (Vec::new(), None))
        } else {
            let discards = device
                .discard
                .map_or_else(String::new, describe_discard_limits);
            (describe_kind(device), discards, blamed_by(&device.name))
        };
        let mut signature = format!("{kind}\0{discards}\0{}\0(", blamed_by.join(","));
        for child in &children {
            signature.push_str(&child.names.len().to_string());
            signature.push_str(&child.signature);
        }
        signature.push(')');
        Self {
            names: vec![device.name.as_str()],
            kind,
            own_name: own_name(device).filter(|_| !layer.repeated),
            discards,
            blamed_by,
            level,
            below: children,
            signature,
        }
    }

    /// Merges a sibling with the same signature.
    fn absorb(&mut self, sibling: Self) {
        self.names.extend(sibling.names);
        for (mine, other) in self.below.iter_mut().zip(sibling.below) {
            mine.absorb(other);
        }
    }

    fn shown(self) -> page::Node {
        let names = patterns(&self.names);
        let text = match (self.names.len(), self.own_name) {
            (1, Some(own_name)) => format!("{names}  {} {own_name}", self.kind),
            (1, None) => format!("{names}  {}", self.kind),
            (number, _) => format!("{names}  {number} x {}", self.kind),
        };
        page::Node {
            text,
            note: self.discards,
            mark: self.blamed_by.join(", "),
            level: self.level,
            below: self.below.into_iter().map(Self::shown).collect(),
        }
    }
}

/// Merges siblings with the same signature into the first of them.
fn merge(siblings: Vec<Node<'_>>) -> Vec<Node<'_>> {
    let mut merged: Vec<Node<'_>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for node in siblings {
        if let Some(index) = known.get(&node.signature) {
            merged[*index].absorb(node);
        } else {
            known.insert(node.signature.clone(), merged.len());
            merged.push(node);
        }
    }
    merged
}

/// Describes the type of a device, without its user-assigned name.
fn describe_kind(device: &BlockDevice) -> String {
    match &device.kind {
        DeviceKind::Partition { .. } => "partition".to_owned(),
        DeviceKind::Nvme {
            model, transport, ..
        } => {
            let model = model.as_deref().unwrap_or("NVMe drive");
            match transport.as_deref() {
                None | Some("pcie") => model.to_owned(),
                Some(transport) => format!("{model} over {transport}"),
            }
        }
        DeviceKind::Scsi {
            vendor,
            model,
            transport,
            ..
        } => {
            let bus = match transport {
                ScsiTransport::Ata => "SATA",
                ScsiTransport::Usb => "USB",
                ScsiTransport::Virtio => "virtio-scsi",
                ScsiTransport::Network => "network SCSI",
                ScsiTransport::Hypervisor | ScsiTransport::Other => "SCSI",
            };
            let names = [
                vendor.as_deref().filter(|vendor| *vendor != "ATA"),
                model.as_deref(),
            ];
            let names: Vec<&str> = names.into_iter().flatten().collect();
            if names.is_empty() {
                format!("{bus} disk")
            } else {
                format!("{} ({bus})", names.join(" "))
            }
        }
        DeviceKind::VirtioBlk { .. } => "virtio disk".to_owned(),
        DeviceKind::Xen => "Xen disk".to_owned(),
        DeviceKind::Mmc => "MMC".to_owned(),
        DeviceKind::Network { driver } => format!("{driver} (network disk)"),
        DeviceKind::Loop { .. } => "loop".to_owned(),
        DeviceKind::Md { level, .. } => level
            .as_deref()
            .map_or_else(|| "md".to_owned(), |level| format!("md {level}")),
        DeviceKind::DeviceMapper { .. } => describe_dm(device),
        DeviceKind::Zram => "zram".to_owned(),
        DeviceKind::Bcache { .. } => "bcache".to_owned(),
        DeviceKind::Other => "block device".to_owned(),
        DeviceKind::Unseen => "unknown (sysfs was not read)".to_owned(),
    }
}

/// Returns the target types of a dm device, each once: `crypt`, `linear+striped`; `None` if its
/// table is unknown or empty.
pub(crate) fn dm_types(device: &BlockDevice) -> Option<String> {
    let mut types: Vec<&str> = Vec::new();
    for target in device.dm_targets().unwrap_or_default() {
        if !types.contains(&target.target_type.as_str()) {
            types.push(&target.target_type);
        }
    }
    (!types.is_empty()).then(|| types.join("+"))
}

/// Describes a dm device by its table, or, if that needs root, by its UUID.
fn describe_dm(device: &BlockDevice) -> String {
    if let Some(types) = dm_types(device) {
        return types;
    }
    match device.dm_uuid().and_then(|uuid| uuid.split_once('-')) {
        Some(("CRYPT", _)) => "crypt",
        Some(("LVM", _)) => "LVM volume",
        Some(("mpath", _)) => "multipath",
        Some(("VDO", _)) => "VDO",
        _ => "dm device",
    }
    .to_owned()
}

/// Returns the user-assigned name of a device: of a mapping, or of a loop file.
fn own_name(device: &BlockDevice) -> Option<&str> {
    match &device.kind {
        DeviceKind::DeviceMapper { name, .. } => name.as_deref(),
        DeviceKind::Loop { backing_file } => backing_file.as_deref(),
        _ => None,
    }
}

/// Describes the discard limits of a queue, claiming no more than they show.
pub(crate) fn describe_discard_limits(limits: DiscardLimits) -> String {
    match (limits.max_bytes, limits.max_hw_bytes) {
        (None, _) => "discard limit not known".to_owned(),
        (Some(0), Some(hardware)) if hardware > 0 => {
            format!("discards switched off (hw max {})", units::bytes(hardware))
        }
        (Some(0), _) => "takes no discards".to_owned(),
        (Some(max), Some(0)) => {
            format!("takes discards up to {} (hw max 0)", units::bytes(max))
        }
        (Some(max), _) => format!("takes discards up to {}", units::bytes(max)),
    }
}

/// Abbreviates several kernel names: `nvme[0-7]n1`, `sd[a-d]1`, `dm-0, sda`.
fn patterns(names: &[&str]) -> String {
    if let [name] = names {
        return (*name).to_owned();
    }
    let mut groups: Vec<((&str, &str), Vec<Counter<'_>>)> = Vec::new();
    for name in names {
        let (prefix, counter, suffix) = split(name);
        match groups.iter_mut().find(|(key, _)| *key == (prefix, suffix)) {
            Some((_, counters)) => counters.push(counter),
            None => groups.push(((prefix, suffix), vec![counter])),
        }
    }
    let more = groups.len().saturating_sub(PATTERNS_MAX);
    let mut shown: Vec<String> = groups
        .into_iter()
        .take(PATTERNS_MAX)
        .map(|((prefix, suffix), counters)| match counters.as_slice() {
            [one] => format!("{prefix}{}{suffix}", one.text),
            _ => format!("{prefix}[{}]{suffix}", ranges(counters)),
        })
        .collect();
    if more > 0 {
        shown.push("...".to_owned());
    }
    shown.join(", ")
}

/// The part of a name that enumerates devices.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Counter<'a> {
    value: u64,
    text: &'a str,
}

/// Splits a name at the enumerating part: the last letter of `sda` and `sdab1`, else the first
/// number.
fn split(name: &str) -> (&str, Counter<'_>, &str) {
    for family in ["xvd", "sd", "hd", "vd"] {
        let Some(rest) = name.strip_prefix(family) else {
            continue;
        };
        let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        if letters > 0 && rest.bytes().skip(letters).all(|c| c.is_ascii_digit()) {
            let at = family.len() + letters - 1;
            let counter = Counter {
                value: u64::from(name.as_bytes()[at]),
                text: &name[at..=at],
            };
            return (&name[..at], counter, &name[at + 1..]);
        }
    }
    let start = name
        .find(|c: char| c.is_ascii_digit())
        .unwrap_or(name.len());
    let digits = name[start..].bytes().take_while(u8::is_ascii_digit).count();
    let text = &name[start..start + digits];
    let counter = Counter {
        value: text.parse().unwrap_or(u64::MAX),
        text,
    };
    (&name[..start], counter, &name[start + digits..])
}

/// Formats `0-3,5`, joining runs of neighbours.
fn ranges(mut counters: Vec<Counter<'_>>) -> String {
    counters.sort();
    let mut parts: Vec<String> = Vec::new();
    for run in counters.chunk_by(|a, b| a.value.checked_add(1) == Some(b.value)) {
        parts.push(match run {
            [first, .., last] => format!("{}-{}", first.text, last.text),
            one => one.iter().map(|counter| counter.text).collect(),
        });
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_are_abbreviated() {
        for (names, pattern) in [
            (&["nvme0n1"][..], "nvme0n1"),
            (
                &["nvme0n1", "nvme1n1", "nvme2n1", "nvme10n1"],
                "nvme[0-2,10]n1",
            ),
            (&["sda1", "sdb1", "sdd1"], "sd[a-b,d]1"),
            (&["sdy", "sdz", "sdaa", "sdab"], "sd[y-z], sda[a-b]"),
            (&["nvme0n1", "nvme0n2"], "nvme0n1, nvme0n2"),
            (&["a", "b", "c", "d", "e"], "a, b, c, d, ..."),
        ] {
            assert_eq!(patterns(names), pattern, "{names:?}");
        }
    }

    #[test]
    fn discard_limits_are_described() {
        let words = |max_bytes, max_hw_bytes| {
            describe_discard_limits(DiscardLimits {
                granularity_bytes: Some(4096),
                max_bytes,
                max_hw_bytes,
            })
        };
        assert_eq!(words(None, None), "discard limit not known");
        assert_eq!(words(Some(0), Some(0)), "takes no discards");
        assert_eq!(words(Some(0), None), "takes no discards");
        assert_eq!(
            words(Some(0), Some(1 << 31)),
            "discards switched off (hw max 2 GiB)"
        );
        assert_eq!(
            words(Some(1 << 31), Some(0)),
            "takes discards up to 2 GiB (hw max 0)"
        );
        assert_eq!(words(Some(1 << 31), None), "takes discards up to 2 GiB");
    }
}
