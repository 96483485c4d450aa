//! Which starts of a job pass what it asks the clock first: `[ $(date +%d) -le 7 ] && ...`.
//!
//! `date`, `test`, `expr` and the shell's arithmetic are followed as GNU's and bash's behave in the C
//! locale. A program's own answer is not known, so conditions are evaluated in three values.

mod date;
mod sum;

use crate::conditions::Conditions;
use crate::window::{SECOND_US, Window, Windows};
use crate::zone::{Clock, parse_zone};
use facts::host::{ClockCondition, ClockText, Guard, Job};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// A start known only to within a window is looked at once an hour of it, at most this often.
const LOOKS_MAX: i64 = 7 * 24;

/// Whether a start of the job does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passes {
    Yes,
    No,
    Perhaps,
}

/// Why a condition has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoValue {
    /// It cannot be told.
    Unknown,
    /// It is no number: `test` and `expr` fail, and the shell goes on.
    NoNumber,
    /// The shell ends with an error: `$((09 % 2))`.
    Stops,
}

/// The guards of a job.
#[derive(Clone)]
pub(crate) struct Gate {
    guards: Vec<Guard>,
    /// The host's clock, by which cron runs what it starts.
    clock: Clock,
    /// The clocks of other zones that were needed; `None` for names that are no zone.
    clocks: HashMap<String, Option<Clock>>,
}

impl Gate {
    /// Returns the gate of a job; `None` if each of its starts does its work.
    pub fn of(job: &Job, conditions: &Conditions) -> Option<Self> {
        (!job.guards.is_empty()).then(|| Self {
            guards: job.guards.clone(),
            clocks: HashMap::new(),
            clock: Clock::new(conditions.zone.clone()),
        })
    }

    /// Returns the note that some runs may not take place.
    pub fn note(&self, job: &Job) -> String {
        let each: Vec<String> = (self.guards.iter())
            .map(|guard| guard.condition.to_string())
            .collect();
        format!(
            "{}: whether each of these runs does its work, since it first checks {}",
            job.defined_in,
            each.join(" and ")
        )
    }

    /// Whether a start within a window by this trigger does its work.
    pub fn passes(&mut self, trigger: &str, window: Window) -> Passes {
        const HOUR_US: i64 = 3_600 * SECOND_US;
        let first = self.passes_at(Some(trigger), window.earliest_us);
        if window.earliest_us == window.latest_us || first == Passes::Perhaps {
            return first;
        }
        if (window.latest_us - window.earliest_us) / HOUR_US > LOOKS_MAX {
            return Passes::Perhaps;
        }
        let mut at_us = (window.earliest_us.div_euclid(HOUR_US) + 1) * HOUR_US;
        while at_us < window.latest_us {
            if self.passes_at(Some(trigger), at_us) != first {
                return Passes::Perhaps;
            }
            at_us += HOUR_US;
        }
        if self.passes_at(Some(trigger), window.latest_us) == first {
            first
        } else {
            Passes::Perhaps
        }
    }

    /// Whether a recorded start does its work: by one trigger of these at least.
    pub fn passes_by_any<'t>(
        &mut self,
        triggers: impl Iterator<Item = &'t str>,
        at_us: i64,
    ) -> Passes {
        let mut best = None;
        for trigger in triggers {
            match self.passes_at(Some(trigger), at_us) {
                Passes::Yes => return Passes::Yes,
                Passes::Perhaps => best = Some(Passes::Perhaps),
                Passes::No => best = best.or(Some(Passes::No)),
            }
        }
        best.unwrap_or_else(|| self.passes_at(None, at_us))
    }

    fn passes_at(&mut self, trigger: Option<&str>, at_us: i64) -> Passes {
        let now_s = at_us.div_euclid(SECOND_US);
        let guards = std::mem::take(&mut self.guards);
        let mut answer = Passes::Yes;
        for guard in &guards {
            let applies = match (&guard.trigger, trigger) {
                (Some(of), Some(trigger)) => of == trigger,
                (Some(_), None) => false,
                (None, _) => true,
            };
            if !applies {
                continue;
            }
            match self.holds(&guard.condition, now_s, guard.zone.as_deref()) {
                Ok(true) => {}
                Ok(false) | Err(NoValue::Stops | NoValue::NoNumber) => {
                    answer = Passes::No;
                    break;
                }
                Err(NoValue::Unknown) => answer = Passes::Perhaps,
            }
        }
        self.guards = guards;
        answer
    }

    fn holds(
        &mut self,
        condition: &ClockCondition,
        at_s: i64,
        zone: Option<&str>,
    ) -> Result<bool, NoValue> {
        match condition {
            ClockCondition::Nonzero(sum) => match self.sum(sum, at_s, zone) {
                Ok(value) => Ok(value != 0),
                Err(NoValue::NoNumber) => Ok(false),
                Err(why) => Err(why),
            },
            ClockCondition::Same(left, right) => {
                // Unquoted, the space in front of ` 7` (`%e`) is none of the text.
                Ok(self.text_of(left, at_s, zone)?.trim()
                    == self.text_of(right, at_s, zone)?.trim())
            }
            ClockCondition::Not(inner) => self.holds(inner, at_s, zone).map(|holds| !holds),
            ClockCondition::All(each) => self.first_of(each, false, at_s, zone),
            ClockCondition::Any(each) => self.first_of(each, true, at_s, zone),
            ClockCondition::Unknown => Err(NoValue::Unknown),
        }
    }

    /// Returns `decisive` if one of the conditions has that value, otherwise its opposite.
    fn first_of(
        &mut self,
        each: &[ClockCondition],
        decisive: bool,
        at_s: i64,
        zone: Option<&str>,
    ) -> Result<bool, NoValue> {
        let mut otherwise = Ok(!decisive);
        for one in each {
            match self.holds(one, at_s, zone) {
                Ok(value) if value == decisive => return Ok(decisive),
                Ok(_) => {}
                // What comes after it may still decide.
                Err(NoValue::Unknown) => otherwise = Err(NoValue::Unknown),
                Err(why) => return otherwise.and(Err(why)),
            }
        }
        otherwise
    }

    fn text_of(
        &mut self,
        text: &ClockText,
        at_s: i64,
        zone: Option<&str>,
    ) -> Result<String, NoValue> {
        match text {
            ClockText::Literal(text) => Ok(text.clone()),
            ClockText::Joined(each) => {
                let mut whole = String::new();
                for one in each {
                    whole.push_str(&self.text_of(one, at_s, zone)?);
                }
                Ok(whole)
            }
            ClockText::Arithmetic(sum) => match self.sum(sum, at_s, zone) {
                Ok(value) => Ok(value.to_string()),
                Err(NoValue::NoNumber) => Err(NoValue::Stops),
                Err(why) => Err(why),
            },
            // `expr` writes its complaint elsewhere.
            ClockText::Expr(sum) => match self.sum(sum, at_s, zone) {
                Ok(value) => Ok(value.to_string()),
                Err(NoValue::NoNumber) => Ok(String::new()),
                Err(why) => Err(why),
            },
            ClockText::Date {
                format,
                days,
                seconds,
                zone: own,
            } => {
                let clock = self.clock_of(own.as_deref().or(zone))?;
                date::text(format, at_s, *days, *seconds, clock).ok_or(NoValue::Unknown)
            }
        }
    }

    fn clock_of(&mut self, zone: Option<&str>) -> Result<&mut Clock, NoValue> {
        let Some(name) = zone else {
            return Ok(&mut self.clock);
        };
        let clock = self
            .clocks
            .entry(name.to_owned())
            .or_insert_with(|| parse_zone(name).ok().map(Clock::new));
        clock.as_mut().ok_or(NoValue::Unknown)
    }
}

/// Drops the windows of a trigger in which the job does nothing, and those that begin at `until_us`
/// or later: a guard may never hold, and a schedule has no end. `perhaps` becomes true when one from
/// `from_us` on is kept of which that cannot be told.
pub(crate) fn passing(
    windows: Windows,
    mut gate: Gate,
    trigger: String,
    (from_us, until_us): (i64, i64),
    perhaps: Rc<Cell<bool>>,
) -> Windows {
    Box::new(
        windows
            .take_while(move |window| window.earliest_us < until_us)
            .filter(move |window| match gate.passes(&trigger, *window) {
                Passes::Yes => true,
                Passes::No => false,
                Passes::Perhaps => {
                    perhaps.set(perhaps.get() || window.latest_us >= from_us);
                    true
                }
            }),
    )
}

#[cfg(test)]
mod tests;
