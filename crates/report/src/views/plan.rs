//! Results and pages of `trimtab plan`.

mod manifests;
mod nodes;
mod playbook;
mod volumes;

pub use manifests::{CSI_ADDONS_RETRY_S, manifests};
pub use nodes::{NodesPlan, PlannedNode, TrimsToday};
pub use playbook::playbook;
pub use volumes::{LeftVolume, ListedToo, OtherTrimmer, PlannedVolume, TrimmedBy, VolumesPlan};

use super::phrases::{range, words_if};
use crate::envelope::{Answer, Envelope};
use jiff::civil::Weekday;
use nodes::{NAMED_MAX, slots, slots_lead};
use page::{Block, Commands, List, Page, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;
use units::date::{weekday, weekday_short};

/// What `trimtab plan` answers; `kind` is its type.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PlanAnswer {
    /// A slot for each node.
    Nodes(NodesPlan),
    /// A slot for each volume of a Kubernetes cluster.
    Volumes(Box<VolumesPlan>),
    /// What is, or would be, changed on one host.
    Host(Box<HostPlan>),
    /// What was put back.
    Undone(Undone),
    /// Whether what was written is what runs.
    Status(PlanStatus),
}

/// A plan for the filesystems of one host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostPlan {
    /// Whether the files were changed, or would be.
    pub is_applied: bool,
    /// The filesystems.
    pub mounts: Vec<MountPlan>,
    /// The load by which their hours were chosen; `null` if they were named.
    pub measured: Option<Measured>,
    /// What is written to them, and what they have room for.
    pub interval: Vec<Interval>,
    /// Whether how often they are trimmed was chosen by that.
    pub is_interval_chosen: bool,
    /// The slots of all nodes, if others were named.
    pub nodes: Option<NodesPlan>,
    /// Changes of files, in order.
    pub changes: Vec<FileChange>,
    /// Jobs that have trimmed one of the filesystems and do not once this is done.
    pub others: Vec<String>,
    /// Timers that are stopped.
    pub stops: Vec<String>,
    /// What keeps the plan from being applied.
    pub blocked: Vec<Obstacle>,
    /// The arguments of the call, quoted for a shell.
    #[serde(skip)]
    pub command: String,
}

/// A history of load that the slot was chosen by.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Where it was read.
    pub source: String,
    /// Its curves, each relative to what is high for it.
    pub series: u64,
    /// Its length in seconds.
    pub span_s: f64,
    /// The load of the slot's hours as a share of the mean.
    pub share: f64,
    /// Whether that is quiet: half of the mean or less.
    pub is_quiet: bool,
    /// Whether it is too short to tell the days of the week apart.
    pub is_one_day: bool,
}

/// How much is written between two trims, and how much may be.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The mount point.
    pub mount_point: String,
    /// After how many days the drives run out of erased blocks; `null` if that is not known, or nothing is written.
    pub room_days: Option<f64>,
    /// What may be written between two trims: what is free, and 7 % of the drives as their spare area, in bytes.
    pub room_bytes: Option<f64>,
    /// What is written a day, on average since boot, in bytes.
    pub written_bytes_per_day: Option<f64>,
    /// What a write costs the drives; `null` if that is not known.
    pub amplification: Option<Amplification>,
    /// Why that is not known.
    pub unknown: Option<String>,
}

/// Write amplification where nothing that is deleted is overwritten before the next trim, by the formula for greedy collection
/// under random writes (Desnoyers 2012): with a spare area of 28 %, and of 7 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Amplification {
    /// Before the next trim.
    pub at_the_end: [f64; 2],
    /// If nothing trims.
    pub untrimmed: [f64; 2],
}

/// When a filesystem is trimmed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MountPlan {
    /// Its mount point.
    pub mount_point: String,
    /// The job that has trimmed it so far and ends; `null` if it was asked for.
    pub loses: Option<String>,
    /// When it is trimmed.
    pub slot: PlannedNode,
    /// Length of its slot in seconds.
    pub len_s: u32,
    /// After how long a pass ends, in seconds; it goes on in the next slot.
    pub deadline_s: f64,
}

/// A change of a file or link.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// Why it is changed.
    pub why: String,
    /// Its lines: `-` before what goes, `+` before what comes.
    pub diff: Vec<String>,
}

/// What keeps a plan from being applied.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Obstacle {
    /// What it is.
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

/// A plan that was taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Undone {
    /// The files that are as they were.
    pub restored: Vec<String>,
    /// Mount points that have no plan any more.
    pub mounts: Vec<String>,
    /// Timers that run again.
    pub started: Vec<String>,
}

/// Whether a plan is in effect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct PlanStatus {
    /// The filesystems; empty if there is no plan.
    pub mounts: Vec<MountStatus>,
    /// Where reality differs from what was written, a sentence each.
    pub drift: Vec<String>,
    /// The calls that have written it.
    #[serde(skip)]
    pub command: String,
}

/// What became of a filesystem's plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MountStatus {
    /// Its mount point.
    pub mount_point: String,
    /// When it is to be trimmed, every week: `Tue 01:00`.
    pub slot: String,
    /// When a pass last ended with everything trimmed; `null` if that is not known.
    pub last_complete: Option<String>,
    /// When the next one begins; `null` if none is due.
    pub next: Option<String>,
}

impl Answer for PlanAnswer {
    const SCHEMA: &'static str = "trimtab.plan/2";
    const TITLE: &'static str = "trimtab plan";
    const JSON_SCHEMA: &'static str = include_str!("../../schemas/plan.json");
}

/// Builds the page.
pub fn page(answer: &Envelope<PlanAnswer>) -> Page {
    let mut page = match &answer.result {
        PlanAnswer::Nodes(plan) => nodes::page(plan),
        PlanAnswer::Volumes(plan) => volumes::page(plan),
        PlanAnswer::Host(plan) => of_host(plan),
        PlanAnswer::Undone(undone) => of_undone(undone),
        PlanAnswer::Status(status) => of_status(status),
    };
    let is_unchanged = match &answer.result {
        PlanAnswer::Host(plan) => !plan.is_applied,
        PlanAnswer::Nodes(_) | PlanAnswer::Volumes(_) => true,
        PlanAnswer::Undone(_) | PlanAnswer::Status(_) => false,
    };
    let unchanged = words_if(is_unchanged, "Nothing was changed; ");
    page.about = vec![format!("{unchanged}trimtab {}", answer.tool_version)];
    page.cautions.extend(answer.warnings.iter().cloned());
    page
}

fn of_host(plan: &HostPlan) -> Page {
    let mut page = Page::new("trimtab plan", host_lead(plan));
    let added = plan.mounts.iter().filter_map(|mount| {
        let job = mount.loses.as_ref()?;
        Some(format!(
            "{} is planned as well, which {job} would no longer trim.",
            mount.mount_point
        ))
    });
    let mut notes: Vec<String> = plan
        .interval
        .iter()
        .map(|interval| interval_words(interval, plan))
        .collect();
    notes.extend(plan.measured.as_ref().map(measured_words));
    notes.extend(added);
    if let Some(nodes) = &plan.nodes {
        notes.push(slots_lead(nodes));
    }
    page.extend(notes.into_iter().map(Block::text));
    page.extend(plan.nodes.as_ref().map(slots));
    if !plan.blocked.is_empty() {
        let mut section = Section::new("What is in the way");
        let obstacles = plan.blocked.iter();
        section.extend(obstacles.map(|one| List::new(format!("{}.", one.why), [&one.hint])));
        page.push(section);
    }
    let mut section = Section::new(if plan.is_applied {
        "Changed"
    } else {
        "What --apply changes"
    });
    section.extend(plan.changes.iter().map(|change| {
        let title = format!("{} ({})", change.path, change.why);
        Commands::new(title, shown(&change.diff))
    }));
    if !plan.stops.is_empty() {
        let stopped = if plan.is_applied {
            "Stopped:"
        } else {
            "To be stopped:"
        };
        let stops = units::list(&plan.stops);
        section.push(Block::text(format!("{stopped} {stops}.")));
    }
    if !section.blocks.is_empty() {
        page.push(section);
    }
    if plan.is_applied {
        page.push(Commands::new(
            "to see whether it runs:",
            "sudo trimtab plan --status",
        ));
        page.push(Commands::new(
            "to take it back:",
            "sudo trimtab plan --undo",
        ));
    } else if plan.blocked.is_empty() && !plan.changes.is_empty() {
        page.push(Commands::new(
            "to do it (`trimtab plan --undo` takes it back, byte for byte):",
            format!("sudo trimtab plan --apply {}", plan.command),
        ));
    }
    page
}

/// Lines of a change that are shown; JSON has all.
const LINES_MAX: usize = 20;

fn shown(diff: &[String]) -> String {
    if diff.len() <= LINES_MAX {
        return diff.join("\n");
    }
    format!("+ {}", units::count(diff.len(), "line"))
}

fn host_lead(plan: &HostPlan) -> String {
    let mounts: Vec<String> = plan
        .mounts
        .iter()
        .take(NAMED_MAX)
        .map(|mount| {
            format!(
                "{} every {} from {}",
                mount.mount_point,
                day_name(&mount.slot.slot),
                mount.slot.window.replace('-', " to ")
            )
        })
        .collect();
    let more = match plan.mounts.len() - mounts.len() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let list = units::list(&mounts);
    let first = plan
        .mounts
        .first()
        .map_or("", |mount| mount.slot.next.as_str());
    if !plan.blocked.is_empty() {
        return format!("Not yet: {}.", plan.blocked[0].why);
    }
    if plan.changes.is_empty() && plan.stops.is_empty() {
        return format!(
            "Nothing to change: trimtab trims {list}{more} already, and nothing else does."
        );
    }
    let verb = if plan.is_applied {
        "trimtab now trims"
    } else {
        "trimtab would trim"
    };
    let others = match (plan.others.as_slice(), plan.is_applied) {
        ([], _) => String::new(),
        ([one], true) => format!(" {one} no longer trims it."),
        (several, true) => format!(" {} no longer trim it.", units::list(several)),
        (others, false) => format!(" {} would stop trimming it.", units::list(others)),
    };
    format!(
        "{verb} {list}{more}, in small steps that wait while the drives are busy.{others} The first pass is due on {first}."
    )
}

/// Why these hours, in one sentence.
fn measured_words(measured: &Measured) -> String {
    let days = words_if(
        measured.is_one_day,
        "; it is too short to tell the days apart",
    );
    format!(
        "In {} ({} of {}) these hours have {} of the mean load{days}.",
        measured.source,
        units::seconds(measured.span_s),
        units::count(measured.series, "curve"),
        units::share::score(measured.share),
    )
}

/// Why this interval, in one sentence.
fn interval_words(interval: &Interval, plan: &HostPlan) -> String {
    let mount = &interval.mount_point;
    let slot = plan
        .mounts
        .iter()
        .find(|planned| planned.mount_point == *mount);
    let every = if slot.is_some_and(|planned| planned.slot.slot.starts_with("daily")) {
        "Daily"
    } else {
        "Weekly"
    };
    let why = if plan.is_interval_chosen {
        ", since"
    } else {
        ", as asked for:"
    };
    match (
        interval.room_days,
        interval.written_bytes_per_day,
        interval.room_bytes,
    ) {
        (Some(days), Some(written), Some(room)) => format!(
            "{every}{why} the drives below {mount} write about {} a day and can absorb {} between trims, enough for {}; more, \
             if they have more than 7 % of spare area.{}",
            units::size::bytes_estimate(written),
            units::size::bytes_estimate(room),
            units::seconds(days * 86_400.0),
            interval
                .amplification
                .as_ref()
                .map(amplification_words)
                .unwrap_or_default(),
        ),
        _ => format!(
            "{every}: how much is written to {mount} between two trims is not known ({}).",
            interval
                .unknown
                .as_deref()
                .unwrap_or("nothing was written yet")
        ),
    }
}

/// With its uncertainty: the spare area is not known.
fn amplification_words(found: &Amplification) -> String {
    let writes =
        |[server, client]: [f64; 2]| range(&format!("{server:.1}"), &format!("{client:.1}"));
    format!(
        " Before the next trim, a write costs the drives about {} writes (with 28 to 7 % of spare area); if nothing trimmed \
         them, {}.",
        writes(found.at_the_end),
        writes(found.untrimmed)
    )
}

/// `Tue 01:00` to `Tuesday`.
fn day_name(slot: &str) -> &str {
    let mut days = Weekday::Monday.cycle_forward().take(7);
    days.find(|day| slot.starts_with(weekday_short(*day)))
        .map_or("day", weekday)
}

fn of_undone(undone: &Undone) -> Page {
    if undone.restored.is_empty() && undone.mounts.is_empty() {
        return Page::new(
            "trimtab plan",
            "There is no plan on this host, and nothing to take back.",
        );
    }
    let mut page = Page::new(
        "trimtab plan",
        format!(
            "The plan for {} is taken back: {} as before it.",
            units::list(&undone.mounts),
            units::count::counted(undone.restored.len(), "file is", "files are")
        ),
    );
    page.push(List::new("As before:", &undone.restored));
    if !undone.started.is_empty() {
        page.push(List::new("Started again:", &undone.started));
    }
    page
}

fn of_status(status: &PlanStatus) -> Page {
    if status.mounts.is_empty() {
        return Page::new("trimtab plan", "There is no plan on this host.");
    }
    let mut page = Page::new(
        "trimtab plan",
        match status.drift.first() {
            None => "The plan is in effect.".to_owned(),
            Some(first) => format!("The plan is not in effect: {first}"),
        },
    );
    let mut table = Table::new(&["<mount", "<slot", "<last complete pass", "<next"]);
    for mount in &status.mounts {
        let unknown = || "none known".to_owned();
        table.row([
            mount.mount_point.clone(),
            mount.slot.clone(),
            mount.last_complete.clone().unwrap_or_else(unknown),
            mount.next.clone().unwrap_or_else(|| "none".to_owned()),
        ]);
    }
    page.push(table);
    if status.drift.len() > 1 {
        page.push(List::new("What differs:", &status.drift));
    }
    if !status.drift.is_empty() {
        page.push(Commands::new(
            "to put it into effect again:",
            &status.command,
        ));
    }
    page
}
