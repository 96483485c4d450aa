//! Arguments of `trimtab plan`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use crate::answer::AnswerArgs;
use crate::values;
use clap::{Args, ValueEnum};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use std::time::Duration;
use trim::window::Window;

/// Text above the usage line of `trimtab plan --help`.
pub const LONG_ABOUT: &str = "Give every node of a cluster a slot of its own for its weekly trim\n\n\
    Slots are counted out: first different days, then different times, and none in\n\
    an hour that the zone's clocks skip or repeat. A random delay, such as\n\
    fstrim.timer's, lets nodes meet. With --mount, the commands for trimtab's own\n\
    timer follow.";

/// `trimtab plan`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab plan es1 es2 es3\n  \
    trimtab plan es1 es2 es3 --mount /data --tz Europe/Berlin -o plan.md\n  \
    trimtab plan mongo-2 mongo-3 mongo-1 --pass 1h --days sat,sun\n\n\
    Nothing is changed. Slots go to the nodes in the order in which they are named:\n\
    name a replica set's primary last.\n\n\
    Exit codes: 0 planned; 2 could not run, or there are more nodes than slots."
)]
pub struct Plan {
    /// The nodes, one for each host that trims
    #[arg(value_name = "NODE", required_unless_present = "schema")]
    pub nodes: Vec<String>,

    /// How long the longest pass takes
    #[arg(long, value_name = "TIME", default_value = "20min", value_parser = values::duration)]
    pub pass: Duration,

    /// The hours in which nodes may trim
    #[arg(long, value_name = "HH:MM-HH:MM", default_value = "01:00-05:00", value_parser = Window::parse)]
    pub window: Window,

    /// The days on which they may, in the order of preference
    #[arg(
        long,
        value_name = "DAY,...",
        value_delimiter = ',',
        hide_possible_values = true,
        value_enum,
        default_value = "tue,wed,thu,sat,sun,fri,mon"
    )]
    pub days: Vec<Day>,

    /// Time zone of --window, for all nodes
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = values::zone)]
    pub tz: TimeZone,

    /// Print the commands that set up the timer of this mount
    #[arg(long, value_name = "MOUNT")]
    pub mount: Option<String>,

    /// Random delay of a timer that all nodes have, to compare the plan with: fstrim.timer's
    #[arg(long, value_name = "TIME", default_value = "100min", value_parser = values::duration)]
    pub delay: Duration,

    #[command(flatten)]
    pub answer: AnswerArgs,
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
