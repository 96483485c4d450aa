//! Runs `trimtab plan`.

use super::args::Plan;
use crate::answer::{self, Delivery, Medium};
use crate::error::{CommandError, Kind};
use crate::output;
use jiff::civil::Weekday;
use plan::{Request, Window};
use report::views::plan::{PlanAnswer, PlannedNode, page};
use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;

/// Windows are told to the minute.
const PASS_MIN: Duration = Duration::from_mins(1);

/// Runs `trimtab plan`.
///
/// # Errors
/// When a node or the zone is invalid, or there are more nodes than slots.
pub fn run(arguments: &Plan) -> Result<ExitCode, CommandError> {
    if arguments.answer.output.schema {
        output::print(&report::schema_of::<PlanAnswer>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let delivery = Delivery::of(&arguments.answer, None)?;
    let usage = |message: String| CommandError::new(Kind::Usage, message);
    let mut names = HashSet::new();
    if let Some(twice) = arguments.nodes.iter().find(|node| !names.insert(*node)) {
        let message = format!("the node {twice} is named twice");
        return Err(usage(message)
            .hint("name each host once: a host trims its filesystems one after the other"));
    }
    if let Some(mount) = arguments
        .mount
        .as_ref()
        .filter(|mount| !mount.starts_with('/'))
    {
        let message = format!("--mount {mount}: expected an absolute path");
        return Err(usage(message).hint("for example --mount /var/lib/elasticsearch"));
    }
    if arguments.pass < PASS_MIN {
        let message = "--pass: expected a minute or more".to_owned();
        return Err(usage(message).hint("for example --pass 20min"));
    }
    let envelope = answer::envelope("arguments", assigned(arguments)?)?;
    delivery.give(
        |medium| page(&envelope, medium == Medium::Document),
        || envelope.json(),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn assigned(arguments: &Plan) -> Result<PlanAnswer, CommandError> {
    let now = answer::generated_at()?;
    let zone = &arguments.tz;
    let zone_name = zone.iana_name().unwrap_or("UTC");
    let days: Vec<Weekday> = arguments.days.iter().map(|&day| day.into()).collect();
    let assigned = plan::assign(&Request {
        passes: arguments.nodes.len(),
        len_s: plan::slot_len_s(arguments.pass.as_secs()),
        window: Window {
            from: arguments.window.opening(),
            len_s: arguments.window.len_s(),
        },
        days: &days,
        zone,
        from: now,
    })
    .map_err(|refusal| {
        let message = format!("no plan without overlaps: {refusal}");
        CommandError::new(Kind::Input, message).hint(
            "a slot is a pass and a margin: widen --window, add --days, or name a shorter --pass (a pass that does not \
             finish goes on a week later)",
        )
    })?;
    let pass_s = arguments.pass.as_secs_f64();
    let nodes = arguments.nodes.iter().zip(&assigned);
    Ok(PlanAnswer {
        overlap_with_delay: plan::overlap_probability(
            &vec![pass_s; arguments.nodes.len()],
            arguments.delay.as_secs_f64(),
        ),
        delay_s: arguments.delay.as_secs_f64(),
        pass_s,
        zone: zone_name.to_owned(),
        mount: arguments.mount.clone(),
        nodes: nodes
            .map(|(name, slot)| PlannedNode {
                name: name.clone(),
                slot: slot.to_string(),
                calendar: slot.calendar(Some(zone_name)),
                window: slot.window(),
                next: slot.next_day(zone, now).to_string(),
            })
            .collect(),
    })
}
