//! Identifies the member drives of a stacked device by their sums.

use super::burst::moved;
use super::table::{Metric, Table};

/// Tolerance between a device and its members: requests are counted when submitted above and when completed
/// below.
const AGREES_WITHIN: f64 = 0.01;

/// Maximum number of drives for which all subsets are tried; with more, only all together and by families.
const SUBSETS_DRIVES_MAX: usize = 12;

/// Returns whether a device is stacked, by its name: md, device-mapper, bcache, DRBD.
pub(super) fn is_stacked(device: &str) -> bool {
    ["md", "dm-", "bcache", "drbd"].iter().any(|prefix| {
        device
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Returns the drives whose reads and writes add up to a device's in every sample before the jump, as in
/// RAID 0 and linear volumes; empty if no set does. After the jump the sums differ, because a discard is
/// counted at once above, and only on completion below.
pub(super) fn members(
    table: &Table<'_>,
    device: &str,
    drives: &[&str],
    jump: usize,
) -> Vec<String> {
    let busy: Vec<&str> = drives
        .iter()
        .copied()
        .filter(|drive| {
            let moves = |metric| (0..jump).any(|at| table.get(drive, metric, at) > Some(0.0));
            moves(Metric::Read) || moves(Metric::Write)
        })
        .collect();
    let best = candidates(&busy)
        .into_iter()
        .filter_map(|set| Some((difference(table, device, &set, jump)?, set)))
        .filter(|(difference, _)| *difference <= AGREES_WITHIN)
        .min_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, set)| set.into_iter().map(str::to_owned).collect())
        .unwrap_or_default()
}

/// Returns the sets of drives to try: all, those of one family (`nvme`, `sd`), and every subset of a few.
fn candidates<'a>(busy: &[&'a str]) -> Vec<Vec<&'a str>> {
    if busy.len() <= SUBSETS_DRIVES_MAX {
        return (1..1_u32 << busy.len())
            .map(|bits| {
                let is_in = |index: &usize| bits >> index & 1 == 1;
                (0..busy.len())
                    .filter(is_in)
                    .map(|index| busy[index])
                    .collect()
            })
            .collect();
    }
    let family = |drive: &str| -> String {
        let letters = if drive.starts_with("nvme") { 4 } else { 2 };
        drive.chars().take(letters).collect()
    };
    let mut families: Vec<(String, Vec<&str>)> = Vec::new();
    for &drive in busy {
        let name = family(drive);
        match families.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(drive),
            None => families.push((name, vec![drive])),
        }
    }
    families
        .into_iter()
        .map(|(_, members)| members)
        .chain([busy.to_vec()])
        .collect()
}

/// Returns the largest difference between a device and the sum of drives, as a fraction of the larger;
/// `None` if nothing can be compared.
fn difference(table: &Table<'_>, device: &str, drives: &[&str], jump: usize) -> Option<f64> {
    let mut largest: Option<f64> = None;
    for metric in [Metric::Read, Metric::Write] {
        for sample in 0..jump {
            let Some(own) = table.get(device, metric, sample) else {
                continue;
            };
            let sum = moved(table, drives, metric, sample);
            let scale = own.max(sum);
            if scale > 0.0 {
                let this = (own - sum).abs() / scale;
                largest = Some(largest.map_or(this, |known| known.max(this)));
            }
        }
    }
    largest
}
