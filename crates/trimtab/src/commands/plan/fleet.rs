//! The nodes of `--cluster` and of `--bundle`, and when they trim as things are.

use super::args::Plan;
use super::slots;
use crate::commands::check::inputs::{self, ReadHost};
use crate::commands::cluster::{self, Asked};
use crate::config::Config;
use crate::error::CommandError;
use facts::Cluster;
use jiff::{SignedDuration, Timestamp};
use report::views::plan::TrimsToday;
use std::collections::BTreeMap;

/// Weekly trims all run once in it.
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Hosts named in a remark.
const NAMED_MAX: usize = 6;
/// Draws of [`plan::overlap_of_windows`]: the same answer each time.
const SEED: u64 = 1;

/// The nodes of a cluster or of bundles.
pub struct Fleet {
    /// Their names, in the order of the numbers in them.
    pub names: Vec<String>,
    /// The mount points that are worth a plan on each of them.
    pub mounts: Vec<String>,
    /// When they trim as things are; `None` if their hosts were not read.
    pub today: Option<TrimsToday>,
    /// What is to be known.
    pub remarks: Vec<String>,
}

/// Reads the nodes; `None` if neither option is given.
///
/// # Errors
/// When they cannot be read, or the options cannot be used together.
pub fn of(
    arguments: &Plan,
    config: &Config,
    now: Timestamp,
) -> Result<Option<Fleet>, CommandError> {
    let option = if arguments.cluster.cluster.is_some() {
        "--cluster"
    } else if arguments.bundle.is_empty() {
        Asked::new(&arguments.cluster, &config.check, false)?;
        return Ok(None);
    } else {
        "--bundle"
    };
    let others = [
        ("--peers", !arguments.peers.is_empty()),
        ("--undo", arguments.undo),
        ("--status", arguments.status),
        ("--load", arguments.load.is_some()),
        ("--root", arguments.root.is_some()),
    ];
    if let Some((other, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
        let message = format!("{option} {other}: they cannot be used together");
        return Err(CommandError::usage(message).hint("leave one of them out"));
    }
    if arguments.apply {
        let message =
            format!("--apply {option}: it only tells the slots, and what to call on each node");
        return Err(CommandError::usage(message).hint(
            "name the nodes, the same on each: trimtab plan --apply /data --peers es1,es2,es3; a node that is down when \
             another one asks would have no slot",
        ));
    }
    let fleet = if option == "--cluster" {
        of_cluster(arguments, config)?
    } else {
        of_bundles(arguments, config, now)?
    };
    if fleet.names.is_empty() {
        let message = format!("{option}: no node with data was found");
        return Err(CommandError::input(message).hint("name them with --peers"));
    }
    if let Some(odd) = fleet.names.iter().find(|name| !is_host_name(name)) {
        let message = format!(
            "{option}: expected names of hosts, found {}",
            units::escape::escape(odd)
        );
        return Err(CommandError::input(message).hint("name the nodes with --peers"));
    }
    Ok(Some(fleet))
}

/// Whether a name can be one of `--peers`, and a host in a playbook: `all` stands for every host there.
fn is_host_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !["all", "ungrouped"].contains(&name)
}

fn of_cluster(arguments: &Plan, config: &Config) -> Result<Fleet, CommandError> {
    let asked = Asked::new(&arguments.cluster, &config.check, false)?;
    let answers = cluster::ask(asked, &arguments.cluster, &config.check)?;
    let facts = answers
        .map(|answers| cluster::facts(&answers, None))
        .transpose()?;
    let mut by_address: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in facts.iter().flat_map(Cluster::data_nodes) {
        let address = node.ip.as_ref().or(node.host.as_ref());
        let address = address.unwrap_or(&node.name).clone();
        by_address
            .entry(address)
            .or_default()
            .push(node.name.clone());
    }
    let mut remarks = vec![
        "Each host has one slot: where its name differs from its node's, pass --node.".to_owned(),
    ];
    let mut names = Vec::new();
    for (address, mut nodes) in by_address {
        in_order(&mut nodes);
        if nodes.len() > 1 {
            remarks.push(format!(
                "{} share a host ({address}), which has one slot, named {}.",
                units::list(&nodes),
                nodes[0]
            ));
        }
        names.push(nodes.swap_remove(0));
    }
    in_order(&mut names);
    Ok(Fleet {
        names,
        mounts: Vec::new(),
        today: None,
        remarks,
    })
}

fn of_bundles(arguments: &Plan, config: &Config, now: Timestamp) -> Result<Fleet, CommandError> {
    let read = inputs::of_bundles(&arguments.bundle, &config.check)?;
    if let Some(unread) = read.unread.first() {
        let message = format!("--bundle {}: {}", unread.what, unread.why);
        return Err(CommandError::input(message)
            .hint("leave it out, and name its node with --peers: slots for a part of the nodes are no plan"));
    }
    let mut remarks = read.remarks;
    let mut hosts = read.hosts;
    hosts.sort_by_cached_key(|read| plan::number_order(&read.name));
    if let Some(nameless) = hosts
        .iter()
        .find(|read| read.host.platform.host_name.is_none())
    {
        let message = format!("{}: its host name is not known", nameless.label);
        return Err(CommandError::input(message)
            .hint("name the nodes with --peers, as their hosts are called"));
    }
    if let Some(twice) = hosts.windows(2).find(|pair| pair[0].name == pair[1].name) {
        let message = format!(
            "--bundle: two are of a host named {}: {} and {}",
            twice[0].name, twice[0].label, twice[1].label
        );
        return Err(CommandError::input(message)
            .hint("leave one of them out, or name the nodes with --peers"));
    }
    let worth = |read: &ReadHost| rules::worth_a_plan(&read.host);
    let mut mounts = hosts.first().map(worth).unwrap_or_default();
    for read in &hosts {
        let found = worth(read);
        if found != mounts {
            remarks.push(format!(
                "{} has {} to plan, unlike {}: name the mount points yourself.",
                read.name,
                if found.is_empty() {
                    "nothing".to_owned()
                } else {
                    units::list(&found)
                },
                hosts[0].name
            ));
            mounts.clear();
            break;
        }
    }
    Ok(Fleet {
        today: today(
            &hosts,
            slots::pass(arguments).as_secs_f64(),
            now,
            &mut remarks,
        ),
        names: hosts.into_iter().map(|read| read.name).collect(),
        mounts,
        remarks,
    })
}

/// When these hosts trim in a week; `None` if that is known of fewer than two.
fn today(
    hosts: &[ReadHost],
    pass_s: f64,
    now: Timestamp,
    remarks: &mut Vec<String>,
) -> Option<TrimsToday> {
    let mut windows: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut jobs: Vec<String> = Vec::new();
    let mut is_delay_fixed = false;
    let mut idle: Vec<&str> = Vec::new();
    let mut unknown: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    // systemd has drawn the delays of the first already.
    let from = now.saturating_add(WEEK).unwrap_or(now);
    let until = from.saturating_add(WEEK).unwrap_or(from);
    for read in hosts {
        let ahead = match rules::trims_ahead(&read.host, from, until) {
            Ok(ahead) => ahead,
            Err(why) => {
                unknown.entry(why).or_default().push(&read.name);
                continue;
            }
        };
        if ahead.runs.is_empty() {
            idle.push(&read.name);
        }
        jobs.extend(ahead.jobs);
        is_delay_fixed |= ahead.is_delay_fixed;
        let second = |at: Timestamp| at.duration_since(from).as_secs_f64();
        let runs = ahead.runs.iter();
        windows.push(
            runs.map(|run| (second(run.earliest), second(run.latest)))
                .collect(),
        );
    }
    jobs.sort_unstable();
    jobs.dedup();
    let mut tell = |names: &[&str], what: &str| {
        remarks.push(format!(
            "{}: {what}.",
            units::list::list_up_to(names, NAMED_MAX)
        ));
    };
    for (why, names) in &unknown {
        tell(names, why);
    }
    if !idle.is_empty() {
        tell(&idle, "no job trims its data every week");
    }
    (windows.len() > 1).then(|| TrimsToday {
        hosts: windows.len() as u64,
        overlap: plan::overlap_of_windows(&windows, pass_s, SEED),
        is_delay_fixed,
        jobs,
    })
}

/// Sorts names by the numbers in them: es2 before es10.
fn in_order(names: &mut [String]) {
    names.sort_by_cached_key(|name| plan::number_order(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = ["es10", "es2", "es2-b", "es1", "db", "es"].map(str::to_owned);
        in_order(&mut names);
        assert_eq!(names, ["db", "es1", "es2", "es2-b", "es10", "es"]);
    }
}
