//! `trimtab trim`: arguments to a pass, its events to a terminal or a stream, its end to an exit code.

mod again;
mod audit;
mod consent;
mod describe;
pub mod draw;
mod forecast;
mod layers;
mod lines;
mod lowering;
mod options;
mod over;
mod plan;
mod signals;
mod sitting;
mod status;
pub mod store_probe;
mod summary;
mod tell;
pub mod values;
mod waiting;
pub mod window;
pub mod words;

use crate::cli::Trim;
use crate::commands::source;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use crate::output;
use again::Again;
use facts::Host;
use forecast::{Depth, Forecast};
use jiff::Timestamp;
use options::Options;
use plan::Plan;
use serde_json::json;
use sitting::Run;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tell::Teller;
use trim::clock::SystemClock;
use trim::pass::Ended;
use trim::state::State;
use trim::stop::Stop;
use words::Page;

/// Runs `trimtab trim`. `config_path` is that of a configuration that was named.
///
/// # Errors
/// When it could not run or was refused; how a pass ended is the exit code.
pub fn run(
    arguments: &Trim,
    config: &Config,
    config_path: Option<&Path>,
    quiet: bool,
) -> Result<ExitCode, CommandError> {
    // Before the host is read: a deadline is that of the whole call.
    let clock = SystemClock::start();
    let format = options::format(arguments, &config.trim);
    let state_dir = options::state_dir(arguments, &config.trim);
    let again = Again::new(arguments, config_path);
    if arguments.status {
        let state = status::state_at(state_dir);
        let meant = if arguments.mounts.is_empty() {
            None
        } else {
            Some(status::keys(&state, &read(config)?, &arguments.mounts)?)
        };
        return status::show(&state, meant.as_deref(), &again, format);
    }
    if arguments.cancel {
        let state = status::state_at(state_dir);
        return status::cancel(&state, &read(config)?, &arguments.mounts);
    }
    let mut teller = Teller::new(format, quiet);
    if arguments.restore_limits {
        let restored = lowering::restore_leftovers(&state_dir, &mut teller)?;
        if restored == 0 {
            teller.remark("no limits were left lowered");
        }
        teller.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::new(arguments, &config.trim)?;
    let host = read(config)?;
    let plans = if arguments.all {
        plan::all(&host, options.force)
    } else {
        plan::named(&host, &arguments.mounts, options.force)?
    };
    let code = if arguments.dry_run {
        dry_run(&host, &plans, &options, arguments.all, &mut teller)?
    } else {
        let call = Call {
            arguments,
            again: &again,
            clock,
        };
        trim(&host, &plans, &options, &call, &mut teller)?
    };
    teller.finish()?;
    Ok(code)
}

fn read(config: &Config) -> Result<Host, CommandError> {
    let opened = source::live();
    let arguments = crate::cli::SourceArgs {
        root: None,
        data_path: Vec::new(),
    };
    let (host, _) = source::read(&opened, &arguments, &config.check.data_paths)?;
    if host.mounts.is_empty() {
        return Err(CommandError::new(
            Kind::Environment,
            "no mounts are known: /proc/self/mountinfo could not be read",
        ));
    }
    Ok(host)
}

/// Tells what would be done.
fn dry_run(
    host: &Host,
    plans: &[Plan<'_>],
    options: &Options,
    all: bool,
    teller: &mut Teller,
) -> Result<ExitCode, CommandError> {
    show_plans(host, plans, options, Depth::Survey, teller)?;
    // Of a mount that was named it is the answer; of those that --all came upon it is not.
    let refused = plans.iter().any(|plan| plan.refusal.is_some());
    Ok(ExitCode::from(if refused && !all { 2 } else { 0 }))
}

/// Prints plans; text to standard output, or a line each.
fn show_plans<'a>(
    host: &'a Host,
    plans: &[Plan<'a>],
    options: &Options,
    depth: Depth,
    teller: &mut Teller,
) -> Result<Vec<Forecast<'a>>, CommandError> {
    let mut page = Page::new(usize::from(output::terminal_columns()));
    let unicode = output::use_unicode();
    let now = Timestamp::now();
    let mut forecasts = Vec::new();
    for plan in plans {
        let forecast = forecast::forecast(host, plan, options, depth);
        teller.emit("plan", lines::plan(plan, &forecast, options));
        page.blank();
        describe::plan(&mut page, plan, &forecast, options, unicode, now);
        forecasts.push(forecast);
    }
    if plans.is_empty() {
        page.head("no writable local filesystem on a block device was found: nothing to trim");
    }
    for shared in shared_drives(plans, &forecasts) {
        page.blank();
        page.head(&shared);
    }
    teller.print(&page.finish())?;
    Ok(forecasts)
}

/// Filesystems over one drive, in words.
fn shared_drives(plans: &[Plan<'_>], forecasts: &[Forecast<'_>]) -> Vec<String> {
    let mut on_drive: HashMap<String, Vec<String>> = HashMap::new();
    let wanted = plans.iter().zip(forecasts);
    for (plan, forecast) in wanted.filter(|(plan, _)| plan.refusal.is_none()) {
        for drive in forecast.layers.leaves() {
            on_drive.entry(drive).or_default().push(plan.name());
        }
    }
    let mut texts: Vec<String> = on_drive
        .into_iter()
        .filter(|(_, mounts)| mounts.len() > 1)
        .map(|(drive, mounts)| {
            format!(
                "{} share {drive}: they are trimmed one after another",
                report::listed(&mounts)
            )
        })
        .collect();
    texts.sort();
    texts
}

/// How trimtab was called, and since when it runs.
struct Call<'a> {
    arguments: &'a Trim,
    again: &'a Again,
    clock: SystemClock,
}

fn trim(
    host: &Host,
    plans: &[Plan<'_>],
    options: &Options,
    call: &Call<'_>,
    teller: &mut Teller,
) -> Result<ExitCode, CommandError> {
    let arguments = call.arguments;
    if !arguments.all {
        refuse(plans, teller)?;
    }
    let wanted: Vec<&Plan<'_>> = plans.iter().filter(|plan| plan.refusal.is_none()).collect();
    if arguments.all && !arguments.yes {
        show_plans(host, plans, options, Depth::Facts, teller)?;
    }
    consent::require(&wanted, options, arguments.all, arguments.yes)?;
    if wanted.is_empty() {
        return Err(
            CommandError::new(Kind::Refused, "nothing here can be trimmed")
                .hint("`trimtab trim --all --dry-run` gives the reasons"),
        );
    }
    if !signals::may_trim() {
        return Err(CommandError::new(
            Kind::Refused,
            "trimming needs root (CAP_SYS_ADMIN), which this process has not",
        )
        .hint("run it with sudo; --dry-run works without"));
    }
    let stop = Stop::default();
    signals::listen(&stop)?;
    let state = State::open(options.state_dir.clone(), PathBuf::from(options::RUN_DIR))
        .map_err(|error| sitting::state_error(&error))?;
    lowering::restore_leftovers(&options.state_dir, teller)?;
    let run = Run {
        host,
        options,
        state: &state,
        stop: &stop,
        again: call.again,
        clock: call.clock,
    };
    if let Some(left) = run.time_left() {
        signals::end_after(&stop, left)?;
    }
    if wanted.len() > 1 {
        teller.remark(&format!(
            "{} filesystems, one after another: {}",
            wanted.len(),
            report::listed(&wanted.iter().map(|plan| plan.name()).collect::<Vec<_>>())
        ));
    }
    passes(&run, &wanted, teller)
}

/// One pass after another, in the order given; the exit code of all of them.
fn passes(
    run: &Run<'_>,
    wanted: &[&Plan<'_>],
    teller: &mut Teller,
) -> Result<ExitCode, CommandError> {
    let mut code = 0;
    for (index, plan) in wanted.iter().enumerate() {
        let point = plan.mount.mount_point.as_str();
        if run.time_left() == Some(Duration::ZERO) {
            teller.say(point, "not begun: the deadline has passed");
            code = code.max(1);
            continue;
        }
        let forecast = forecast::forecast(run.host, plan, run.options, Depth::Facts);
        teller.emit("plan", lines::plan(plan, &forecast, run.options));
        match sitting::sit(run, plan, &forecast, teller) {
            Ok(Ended::Signal(number)) => {
                for plan in &wanted[index + 1..] {
                    teller.say(&plan.mount.mount_point, "not begun");
                }
                let number = u8::try_from(number).unwrap_or(0);
                return Ok(ExitCode::from(128u8.saturating_add(number)));
            }
            Ok(Ended::Complete) => {}
            Ok(Ended::Failed { .. }) => code = 2,
            Ok(Ended::Cancelled) => {
                // It was meant for this filesystem, not for those that follow.
                run.stop.clear();
                code = code.max(1);
            }
            Ok(Ended::Stopped { .. } | Ended::Swallowed(_)) => {
                code = code.max(1);
            }
            Err(error) => {
                teller.emit(
                    "ended",
                    json!({
                        "mount_point": point,
                        "outcome": "refused",
                        "reason": error.message,
                        "hints": error.hints,
                    }),
                );
                if wanted.len() == 1 {
                    return Err(error);
                }
                teller.print("")?;
                output::complain(&error);
                code = 2;
            }
        }
    }
    Ok(ExitCode::from(code))
}

/// Refuses all where one of the named mounts must not or cannot be trimmed: half of what was asked
/// for would look like all of it.
fn refuse(plans: &[Plan<'_>], teller: &mut Teller) -> Result<(), CommandError> {
    let refused: Vec<&Plan<'_>> = plans.iter().filter(|plan| plan.refusal.is_some()).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let mut page = Page::new(usize::from(output::terminal_columns()));
    let mut reasons = Vec::new();
    let mut hints = Vec::new();
    for plan in refused {
        let Some(refusal) = &plan.refusal else {
            continue;
        };
        teller.emit(
            "ended",
            json!({
                "mount_point": plan.mount.mount_point,
                "outcome": "refused",
                "reason": refusal.reason,
                "hints": refusal.hints,
                "findings": refusal.finding.as_slice(),
            }),
        );
        reasons.push(format!("{}: {}", plan.name(), refusal.reason));
        hints.extend(refusal.hints.iter().cloned());
        if let Some(finding) = &refusal.finding {
            page.head(&plan.name());
            page.finding(finding);
        }
    }
    teller.print(&page.finish())?;
    if plans.len() > 1 {
        hints.push("no other mount of this call was trimmed either".to_owned());
    }
    let mut error = CommandError::new(Kind::Refused, reasons.join("; "));
    error.hints = hints;
    Err(error)
}
