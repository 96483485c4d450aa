//! Runs `trimtab plan`.

use super::args::{Plan, PlanFormat};
use super::{fleet, host, playbook, slots, volumes, written};
use crate::answer::{self, Delivery};
use crate::config::Config;
use crate::error::CommandError;
use report::views::plan::{PlanAnswer, page};
use std::process::ExitCode;

/// Runs `trimtab plan`.
///
/// # Errors
/// When an argument is invalid, there are more nodes than slots, or a filesystem must not be trimmed or could not be
/// planned: nothing was changed then.
pub fn run(arguments: &Plan, config: &Config) -> Result<ExitCode, CommandError> {
    if arguments.output.schema {
        return answer::print_schema::<PlanAnswer>();
    }
    // Before anything is changed.
    let file = arguments.output.file();
    // Both are YAML.
    let of_extension = if arguments.volumes.is_some() {
        PlanFormat::of_extension_for_kubernetes
    } else {
        PlanFormat::of_extension
    };
    let format = answer::resolve_format(arguments.format, file, None, of_extension)?;
    let format = format.unwrap_or(PlanFormat::Text);
    let now = answer::generated_at()?;
    slots::validate(arguments)?;
    let fleet = fleet::of(arguments, config, now)?;
    let named = fleet.as_ref().map(|fleet| {
        let mut named = arguments.clone();
        named.peers.clone_from(&fleet.names);
        if named.mounts.is_empty() {
            named.mounts.clone_from(&fleet.mounts);
        }
        named
    });
    let arguments = named.as_ref().unwrap_or(arguments);
    slots::validate(arguments)?;
    let Some(format_of_answer) = format.of_answer() else {
        let text = if format == PlanFormat::Kubernetes {
            volumes::objects(arguments, now)?
        } else {
            let remarks = fleet.map(|fleet| fleet.remarks).unwrap_or_default();
            for remark in &remarks {
                tracing::warn!("{}", units::escape::escape(remark));
            }
            playbook::of(arguments, &remarks, now)?
        };
        arguments.output.write(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    let delivery = Delivery::in_format(&arguments.output, format_of_answer)?;
    let source = arguments.root.as_ref();
    let mut source =
        source.map_or_else(|| "this host".to_owned(), |root| root.display().to_string());
    let (answer, warnings, code) = if arguments.undo {
        written::undo(arguments)?
    } else if arguments.status {
        written::status(arguments, config, now)?
    } else if let Some(path) = &arguments.volumes {
        source = path.display().to_string();
        let plan = Box::new(volumes::of_volumes(arguments, path, now)?);
        (PlanAnswer::Volumes(plan), Vec::new(), ExitCode::SUCCESS)
    } else if let Some(fleet) = fleet {
        "nodes".clone_into(&mut source);
        let mut nodes = slots::of_nodes(arguments, now)?;
        nodes.today = fleet.today;
        (PlanAnswer::Nodes(nodes), fleet.remarks, ExitCode::SUCCESS)
    } else if !arguments.peers.is_empty() && arguments.mounts.is_empty() && !arguments.apply {
        "arguments".clone_into(&mut source);
        let nodes = slots::of_nodes(arguments, now)?;
        (PlanAnswer::Nodes(nodes), Vec::new(), ExitCode::SUCCESS)
    } else {
        host::plan(arguments, config, now)?
    };
    let mut envelope = answer::envelope(source, answer)?;
    envelope.warnings = warnings;
    delivery.give_envelope(&envelope, |envelope, _| page(envelope))?;
    Ok(code)
}
