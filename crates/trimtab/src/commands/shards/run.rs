//! Runs `trimtab shards`.

use super::args::{Cost, Reroute, Shards, ShardsCommand, StateArgs, WhatIf};
use super::load;
use crate::answer::{self, Delivery};
use crate::commands;
use crate::error::CommandError;
use crate::progress::Draw;
use report::views::shards::{ShardsAnswer, page};
use shards::cost::Shape;
use shards::estimate::{ClusterSize, CostEstimate, Question};
use shards::explanation::{Detail, RerouteExplanation};
use shards::forecast::{Changes, Forecast, ForecastError, shape};
use shards::what_if::{Course, summary};
use std::collections::HashSet;
use std::process::ExitCode;

/// Runs `trimtab shards`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Shards, quiet: bool) -> Result<ExitCode, CommandError> {
    let named = commands::named(
        "shards",
        arguments.command.as_ref(),
        arguments.schema,
        "cost, reroute, what-if",
    )?;
    match named {
        Some(ShardsCommand::Cost(arguments)) if !arguments.answer.output.schema => {
            cost(arguments, quiet)
        }
        Some(ShardsCommand::Reroute(arguments)) if !arguments.answer.output.schema => {
            reroute(arguments, quiet)
        }
        Some(ShardsCommand::WhatIf(arguments)) if !arguments.answer.output.schema => {
            what_if(arguments, quiet)
        }
        _ => answer::print_schema::<ShardsAnswer>(),
    }
}

fn cost(arguments: &Cost, quiet: bool) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut desired = None;
    let (size, server, source) = match (&arguments.state, arguments.shards, arguments.nodes) {
        (Some(_), ..) => {
            let (shape, loaded) = cluster_size(arguments, quiet)?;
            desired = loaded.state.desired_work;
            let server = loaded.server_is_known.then_some(loaded.server);
            (ClusterSize::Read(shape), server, loaded.source)
        }
        (None, Some(copies), Some(data_nodes)) => {
            let size = ClusterSize::Given {
                copies,
                closed_share: arguments.closed.unwrap_or(0.0),
                indices: arguments.indices,
                data_nodes,
                disk_scan: !arguments.without_relocations,
            };
            (size, arguments.version.clone(), "arguments".to_owned())
        }
        _ => {
            return Err(CommandError::usage(
                "--shards and --nodes are needed, or --state",
            ));
        }
    };
    let question = Question {
        server,
        size,
        primaries: arguments.primaries,
        replicas: arguments.replicas,
        desired,
    };
    let estimate = CostEstimate::of(&question);
    let warnings = estimate.warnings(question.server.as_ref());
    let answer = ShardsAnswer::Cost(Box::new(estimate));
    give(&delivery, &source, answer, warnings)?;
    Ok(ExitCode::SUCCESS)
}

/// Size of the cluster that `--state` names, and the cluster.
fn cluster_size(arguments: &Cost, quiet: bool) -> Result<(Shape, load::Loaded), CommandError> {
    let cluster = StateArgs {
        state: arguments.state.clone(),
        desired: arguments.desired.clone(),
        version: arguments.version.clone(),
        credentials_file: arguments.credentials_file.clone(),
        ca_file: arguments.ca_file.clone(),
        ..StateArgs::default()
    };
    let loaded = load::load(&cluster, quiet)?;
    let cluster = &loaded.state.cluster;
    let mut shape = shape(cluster, &summary(cluster));
    shape.disk_scan &= !arguments.without_relocations;
    Ok((shape, loaded))
}

fn reroute(arguments: &Reroute, quiet: bool) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut loaded = load::load(&arguments.cluster, quiet)?;
    let detail = Detail {
        decisions_max: arguments.limit,
        all_deciders: arguments.all_deciders,
    };
    let desired = loaded.state.desired.take();
    let cluster = &mut loaded.state.cluster;
    let explanation = RerouteExplanation::of(
        cluster,
        desired.as_ref(),
        &loaded.server,
        loaded.now_nanos,
        detail,
    )
    .map_err(|error| load::misfit(&loaded.source, &error))?;
    loaded.warnings.extend(explanation.warnings());
    let is_understood = explanation.not_understood.is_none();
    let answer = ShardsAnswer::Reroute(Box::new(explanation));
    give(&delivery, &loaded.source, answer, loaded.warnings)?;
    Ok(exit_code(is_understood, false))
}

fn what_if(arguments: &WhatIf, quiet: bool) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut loaded = load::load(&arguments.cluster, quiet)?;
    let changes = Changes {
        settings: arguments.set.clone(),
        added: arguments.add_node.clone(),
        removed: arguments.remove_node.clone(),
        shut_down: arguments.shut_down.clone(),
        closed: arguments.close.clone(),
        index_settings: arguments.set_index.clone(),
        created: arguments.create_index.clone(),
        to_server: arguments.to_version.clone(),
    };
    let mut draw = Draw::new(quiet);
    let mut watch = |course: &Course| draw.show(&progress(course));
    let forecast = Forecast::of(
        &mut loaded.state,
        &loaded.server,
        &changes,
        loaded.now_nanos,
        arguments.rounds,
        &mut watch,
    )
    .map_err(|error| refused(&loaded.source, &error))?;
    draw.clear();
    let code = exit_code(forecast.not_understood.is_none(), forecast.worse);
    let known: HashSet<String> = loaded.warnings.iter().cloned().collect();
    let new = forecast
        .warnings
        .iter()
        .filter(|warning| !known.contains(*warning));
    loaded.warnings.extend(new.cloned());
    let answer = ShardsAnswer::WhatIf(Box::new(forecast));
    give(&delivery, &loaded.source, answer, loaded.warnings)?;
    Ok(code)
}

fn exit_code(is_understood: bool, is_worse: bool) -> ExitCode {
    let code = if is_understood { u8::from(is_worse) } else { 2 };
    ExitCode::from(code)
}

/// How far a simulation is.
fn progress(course: &Course) -> String {
    format!(
        "simulating: {}, {} moved, {} recovered",
        units::count(course.rounds, "round"),
        units::count(course.moved, "shard"),
        units::grouped(course.primaries_recovered + course.replicas_recovered)
    )
}

fn refused(source: &str, error: &ForecastError) -> CommandError {
    match error {
        ForecastError::Routing(error) => load::misfit(source, error),
        ForecastError::Setting(error) => {
            let error = error.to_string();
            CommandError::usage(format!("--set: {}", units::escape::escape(&error)))
        }
        ForecastError::Change(error) => {
            CommandError::usage(units::escape::escape(&error.to_string()))
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
    delivery.give_envelope(&envelope, page)
}
