//! Arguments of `trimtab plan`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use crate::answer::{self, OutputArgs};
use crate::arguments::ClusterArgs;
use crate::values;
use clap::{ArgGroup, Args, ValueEnum};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use std::path::PathBuf;
use std::time::Duration;
use trim::window::Window;

/// Text above the usage line of `trimtab plan --help`.
pub const LONG_ABOUT: &str = "Schedule a paced weekly trim that disturbs nobody, and undo it on request\n\n\
    Shows what would be changed on this host, and changes it with --apply: a timer\n\
    or a line for cron, and an end for whatever else trims the filesystem. The slot\n\
    avoids other heavy jobs. With --peers, the nodes of a cluster get fixed slots\n\
    that never overlap, unlike timers with a random delay.";

/// `--window`.
pub const DEFAULT_WINDOW: &str = "01:00-05:00";
/// `--days`: nights after working days come first, where somebody is there the next morning.
pub const DEFAULT_DAYS: &str = "tue,wed,thu,sat,sun,fri,mon";

/// `trimtab plan`.
#[derive(Debug, Clone, Args)]
#[command(
    disable_version_flag = true,
    group = ArgGroup::new("task").args(["apply", "undo", "status"]),
    after_help = "Examples:\n  \
    trimtab plan                          what it would change for the stores here\n  \
    sudo trimtab plan --apply /data       change it\n  \
    sudo trimtab plan --status            is the plan still in effect?\n  \
    sudo trimtab plan --undo              put everything back, byte for byte\n  \
    trimtab plan --peers es1,es2,es3      slots for the nodes of a cluster\n  \
    trimtab plan --cluster http://es1:9200 /data   for all of its data nodes\n  \
    sudo trimtab plan --apply /data --peers es1,es2,es3   the same call on each\n  \
    trimtab plan --fstab /data --peers es1,es2,es3 -o plan.yml   for Ansible\n  \
    kubectl get pv,pvc -A -o json | trimtab plan --volumes - -o trims.yaml\n\n\
    Slots go to nodes in the order in which they are named: name a replica set's\n\
    primary last.\n\n\
    Exit codes: 0 done, or shown; 1 --status: the plan is not in effect; 2 refused\n\
    or could not run: nothing was changed."
)]
// Flags of a command line.
#[allow(clippy::struct_excessive_bools)]
pub struct Plan {
    /// Mount points to plan [default: those of stores' data on flash]
    #[arg(value_name = "MOUNT")]
    pub mounts: Vec<String>,

    /// Write the plan: change the files, and start the timers
    #[arg(long)]
    pub apply: bool,

    /// Put everything back that --apply has changed
    #[arg(long, conflicts_with_all = ["mounts", "peers"])]
    pub undo: bool,

    /// Check that the applied plan is still in effect
    #[arg(long, conflicts_with_all = ["mounts", "peers"])]
    pub status: bool,

    /// The nodes of the cluster that trim, this one included, in the same order on each
    #[arg(long, value_name = "NODE,...", value_delimiter = ',')]
    pub peers: Vec<String>,

    /// The hosts of these bundles or archives as --peers, and when they trim now (repeatable; also a directory of
    /// them)
    #[arg(long, value_name = "FILE|DIR", conflicts_with_all = ["peers", "cluster", "root", "load", "undo", "status"])]
    pub bundle: Vec<PathBuf>,

    /// Which of --peers this host is [default: its host name]
    #[arg(long, value_name = "NODE", requires = "peers")]
    pub node: Option<String>,

    /// The longest that a pass takes; trimtab's own stop then and resume in the next slot [default: 20min for
    /// several nodes or volumes, else all of the slot]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub pass: Option<Duration>,

    /// The hours in which nodes may trim
    #[arg(long, value_name = "HH:MM-HH:MM", default_value = DEFAULT_WINDOW, value_parser = Window::parse)]
    pub window: Window,

    /// The days on which nodes may trim, in order of preference
    #[arg(
        long,
        value_name = "DAY,...",
        value_delimiter = ',',
        hide_possible_values = true,
        value_enum,
        default_value = DEFAULT_DAYS
    )]
    pub days: Vec<Day>,

    /// Choose --window and --days by the load in this history, higher being busier: a CSV, a log of iostat or
    /// sar, or MongoDB's diagnostic.data
    #[arg(long, value_name = "FILE", conflicts_with_all = ["peers", "window", "days"])]
    pub load: Option<PathBuf>,

    /// How often each filesystem is trimmed [default: week; day, if more is written in a week than there
    /// is room for between two trims; with --peers week]
    #[arg(long, value_name = "week|day", hide_possible_values = true, value_enum)]
    pub every: Option<EveryArg>,

    /// Time zone of --window [default: the host's; with --peers UTC, for all nodes]
    #[arg(long, value_name = "ZONE", value_parser = values::zone)]
    pub tz: Option<TimeZone>,

    /// Allow the option X-fstrim.notrim in /etc/fstab, where fstrim.timer trims other filesystems as well
    #[arg(long)]
    pub fstab: bool,

    /// Start a pass only if the Elasticsearch or OpenSearch cluster at URL is green and moves no shard
    #[arg(long, value_name = "URL")]
    pub require_green: Option<String>,

    /// Change the files below DIR, an image's or a container's, instead of this host's
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Cluster")]
    pub cluster: ClusterArgs,

    /// Slots for the volumes of a Kubernetes cluster, from what `kubectl get pv,pvc -A -o json` lists; `-` is stdin
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Kubernetes",
        conflicts_with_all = ["mounts", "apply", "undo", "status", "peers", "node", "bundle", "cluster", "load", "fstab", "root"]
    )]
    pub volumes: Option<PathBuf>,

    /// Only volumes that are claimed in these namespaces
    #[arg(
        long = "namespace",
        value_name = "NAME,...",
        value_delimiter = ',',
        requires = "volumes",
        help_heading = "Kubernetes"
    )]
    pub namespaces: Vec<String>,

    /// By how much csi-addons shifts schedules: its cronjob-stagger-window [default: 2h, if it trims a volume]
    #[arg(long, value_name = "TIME", requires = "volumes", help_heading = "Kubernetes", value_parser = stagger)]
    pub stagger: Option<Duration>,

    /// Image of trimtab, for a privileged CronJob on the node of each local volume
    #[arg(
        long,
        value_name = "IMAGE",
        requires = "volumes",
        help_heading = "Kubernetes"
    )]
    pub image: Option<String>,

    /// Output format; ansible is a playbook for --peers, kubernetes the objects for --volumes [default: by the
    /// extension of -o FILE, else text]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<PlanFormat>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// Plain text
    Text,
    /// JSON (see --schema)
    Json,
    /// Markdown for tickets
    Markdown,
    /// Self-contained HTML page
    Html,
    /// Ansible playbook
    Ansible,
    /// Objects of Kubernetes
    Kubernetes,
}

impl PlanFormat {
    /// The format for a lower-case file extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "yml" | "yaml" => Self::Ansible,
            _ => match answer::format_of(extension)? {
                answer::Format::Text => Self::Text,
                answer::Format::Json => Self::Json,
                answer::Format::Markdown => Self::Markdown,
                answer::Format::Html => Self::Html,
            },
        })
    }

    /// As [`Self::of_extension`], for objects of Kubernetes.
    pub fn of_extension_for_kubernetes(extension: &str) -> Option<Self> {
        match Self::of_extension(extension)? {
            Self::Ansible => Some(Self::Kubernetes),
            other => Some(other),
        }
    }

    /// As the format of an answer; `None` for what other programs apply.
    pub fn of_answer(self) -> Option<answer::Format> {
        Some(match self {
            Self::Text => answer::Format::Text,
            Self::Json => answer::Format::Json,
            Self::Markdown => answer::Format::Markdown,
            Self::Html => answer::Format::Html,
            Self::Ansible | Self::Kubernetes => return None,
        })
    }
}
/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EveryArg {
    /// Once a week
    Week,
    /// Once a day
    Day,
}

impl From<EveryArg> for plan::Every {
    fn from(every: EveryArg) -> Self {
        match every {
            EveryArg::Week => Self::Week,
            EveryArg::Day => Self::Day,
        }
    }
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Day {
    /// Monday
    Mon,
    /// Tuesday
    Tue,
    /// Wednesday
    Wed,
    /// Thursday
    Thu,
    /// Friday
    Fri,
    /// Saturday
    Sat,
    /// Sunday
    Sun,
}

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

impl From<Day> for Weekday {
    fn from(day: Day) -> Self {
        match day {
            Day::Mon => Self::Monday,
            Day::Tue => Self::Tuesday,
            Day::Wed => Self::Wednesday,
            Day::Thu => Self::Thursday,
            Day::Fri => Self::Friday,
            Day::Sat => Self::Saturday,
            Day::Sun => Self::Sunday,
        }
    }
}

/// Parses `--stagger`: csi-addons has 0 for none.
fn stagger(text: &str) -> Result<Duration, units::ValueError> {
    match text {
        "0" | "0s" | "0h" => Ok(Duration::ZERO),
        text => values::duration(text),
    }
}

/// The arguments of a call, without what it does, for a command that is printed.
pub fn words(arguments: &Plan) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(name.to_owned());
            words.push(value);
        }
    };
    let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
    option("--peers", list(&arguments.peers));
    option("--node", arguments.node.clone());
    let every = arguments.every.map(|every| match every {
        EveryArg::Week => "week",
        EveryArg::Day => "day",
    });
    option("--every", every.map(str::to_owned));
    let days: Vec<String> = arguments.days.iter().map(ToString::to_string).collect();
    let days = days.join(",");
    option("--days", (days != DEFAULT_DAYS).then_some(days));
    option("--pass", arguments.pass.map(units::duration::argument));
    let window = arguments.window.to_string();
    option("--window", (window != DEFAULT_WINDOW).then_some(window));
    let zone = arguments.tz.as_ref().and_then(TimeZone::iana_name);
    option("--tz", zone.map(str::to_owned));
    let shown = |path: &PathBuf| path.display().to_string();
    option("--load", arguments.load.as_ref().map(shown));
    option("--require-green", arguments.require_green.clone());
    option("--root", arguments.root.as_ref().map(shown));
    option("--volumes", arguments.volumes.as_ref().map(shown));
    option("--namespace", list(&arguments.namespaces));
    let stagger = arguments.stagger.map(units::duration::argument);
    option("--stagger", stagger);
    option("--image", arguments.image.clone());
    if arguments.fstab {
        words.push("--fstab".to_owned());
    }
    words.extend(arguments.mounts.iter().cloned());
    words
}
