//! Runs `trimtab shards`.

use super::args::{Cost, Reroute, Shards, ShardsCommand, WhatIf};
use super::load;
use crate::answer::{self, Delivery, Medium};
use crate::commands;
use crate::error::{CommandError, Kind};
use crate::output;
use report::views::shards::{ShardsAnswer, page};
use shards::cost::IndexShape;
use shards::estimate::{CostEstimate, Question};
use shards::explanation::{Detail, RerouteExplanation};
use shards::forecast::{Changes, Forecast, ForecastError};
use std::process::ExitCode;

/// Runs `trimtab shards`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Shards) -> Result<ExitCode, CommandError> {
    let named = commands::named(
        "shards",
        arguments.command.as_ref(),
        arguments.schema,
        "cost, reroute, what-if",
    )?;
    match named {
        Some(ShardsCommand::Cost(arguments)) if !arguments.answer.output.schema => cost(arguments),
        Some(ShardsCommand::Reroute(arguments)) if !arguments.answer.output.schema => {
            reroute(arguments)
        }
        Some(ShardsCommand::WhatIf(arguments)) if !arguments.answer.output.schema => {
            what_if(arguments)
        }
        _ => {
            output::print(&report::schema_of::<ShardsAnswer>())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn cost(arguments: &Cost) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let (Some(copies), Some(data_nodes)) = (arguments.shards, arguments.nodes) else {
        return Err(CommandError::new(
            Kind::Usage,
            "--shards and --nodes are needed",
        ));
    };
    let question = Question {
        server: arguments.version.clone(),
        copies,
        closed_share: arguments.closed.unwrap_or(0.0),
        indices: arguments.indices,
        data_nodes,
        index: IndexShape {
            primaries: arguments.primaries,
            replicas: arguments.replicas,
        },
        disk_scan: !arguments.without_relocations,
    };
    let estimate = CostEstimate::of(&question);
    let warnings = estimate.warnings(&question.server);
    let answer = ShardsAnswer::Cost(Box::new(estimate));
    give(&delivery, "arguments", answer, warnings)?;
    Ok(ExitCode::SUCCESS)
}

fn reroute(arguments: &Reroute) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut loaded = load::load(&arguments.cluster)?;
    let detail = Detail {
        decisions_max: arguments.limit,
        all_deciders: arguments.all_deciders,
    };
    let cluster = &mut loaded.state.cluster;
    let explanation = RerouteExplanation::of(cluster, &loaded.server, loaded.now_nanos, detail)
        .map_err(|error| load::misfit(&loaded.source, &error))?;
    loaded.warnings.extend(explanation.warnings());
    let answer = ShardsAnswer::Reroute(Box::new(explanation));
    give(&delivery, &loaded.source, answer, loaded.warnings)?;
    Ok(ExitCode::SUCCESS)
}

fn what_if(arguments: &WhatIf) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut loaded = load::load(&arguments.cluster)?;
    let changes = Changes {
        settings: arguments.set.clone(),
        added: arguments.add_node.clone(),
        removed: arguments.remove_node.clone(),
        closed: arguments.close.clone(),
        to_server: arguments.to_version.clone(),
    };
    let forecast = Forecast::of(
        &mut loaded.state,
        &loaded.server,
        &changes,
        loaded.now_nanos,
        arguments.rounds,
    )
    .map_err(|error| refused(&loaded.source, &error))?;
    let worse = forecast.worse;
    for warning in &forecast.warnings {
        if !loaded.warnings.contains(warning) {
            loaded.warnings.push(warning.clone());
        }
    }
    let answer = ShardsAnswer::WhatIf(Box::new(forecast));
    give(&delivery, &loaded.source, answer, loaded.warnings)?;
    Ok(if worse {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn refused(source: &str, error: &ForecastError) -> CommandError {
    match error {
        ForecastError::Routing(error) => load::misfit(source, error),
        ForecastError::Setting(error) => {
            let error = error.to_string();
            CommandError::new(
                Kind::Usage,
                format!("--set: {}", units::escape::escape(&error)),
            )
        }
        ForecastError::Change(error) => {
            CommandError::new(Kind::Usage, units::escape::escape(&error.to_string()))
        }
    }
}

fn give(
    delivery: &Delivery<'_>,
    source: &str,
    result: ShardsAnswer,
    warnings: Vec<String>,
) -> Result<(), CommandError> {
    let mut envelope = answer::envelope(source, result)?;
    envelope.warnings = warnings;
    delivery.give(
        |medium| page(&envelope, medium == Medium::Terminal),
        || envelope.json(),
    )
}
