//! The `trimtab` binary: arguments, wiring, exit codes.

mod answer;
mod arguments;
mod children;
mod cli;
mod commands;
mod config;
mod error;
mod help;
mod helper;
mod input;
mod output;
mod progress;
mod values;
mod version;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use cli::{Cli, Command};
use config::Config;
use error::CommandError;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

fn main() -> ExitCode {
    if let Some(code) = helper::run() {
        return code;
    }
    children::reset_sigchld();
    let call = help::without_help_command(std::env::args_os().collect());
    match parse(&call).and_then(|parsed| parsed.map_or_else(Ok, run)) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(2)
        }
    }
}

/// Parses the call; the exit code if help or the version was printed instead.
fn parse(call: &[OsString]) -> Result<Result<Cli, ExitCode>, CommandError> {
    let command = cli::command();
    if let Some(help) = help::in_full(&command, call) {
        output::print(&help)?;
        return Ok(Err(ExitCode::SUCCESS));
    }
    let parsed = command
        .try_get_matches_from(call)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => Ok(Ok(cli)),
        // A call without a subcommand gets the help as well, on stderr.
        Err(shown)
            if !shown.use_stderr()
                || shown.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            let _ = shown.print();
            Ok(Err(ExitCode::from(if shown.use_stderr() { 2 } else { 0 })))
        }
        Err(error) => {
            let (_, name) = help::called(&cli::command(), call);
            Err(CommandError::of_call(&error, &name))
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode, CommandError> {
    start_log(cli.verbose, cli.quiet);
    match cli.command {
        Command::Check(arguments) => {
            let config = Config::load(cli.config.as_deref());
            commands::check::run(&arguments, config, cli.verbose > 0, cli.quiet)
        }
        Command::Collect(arguments) => {
            let config = Config::load(cli.config.as_deref())?;
            commands::collect::run(&arguments, &config.check, cli.quiet)
        }
        Command::Rule(arguments) => commands::rule::run(&arguments),
        Command::Explain(arguments) => {
            let config = Config::load(cli.config.as_deref())?;
            commands::explain::run(&arguments, &config.explain, cli.verbose > 0, cli.quiet)
        }
        Command::Trim(arguments) => {
            let config = Config::load(cli.config.as_deref())?;
            commands::trim::run(&arguments, &config, cli.config.as_deref(), cli.quiet)
        }
        Command::Plan(arguments) => {
            let config = Config::load(cli.config.as_deref())?;
            commands::plan::run(&arguments, &config)
        }
        Command::Ssd(arguments) => {
            let config = Config::load(cli.config.as_deref())?;
            commands::ssd::run(&arguments, &config, cli.quiet)
        }
        Command::Shards(arguments) => commands::shards::run(&arguments, cli.quiet),
        Command::Livefix(arguments) => commands::livefix::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments, cli.quiet),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { directory } => commands::manual::pages(&directory),
    }
}

/// Starts logging to stderr. `TRIMTAB_LOG` sets targets and levels (`host=debug,rules=trace`).
fn start_log(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, _) => LevelFilter::TRACE,
    };
    let wanted = std::env::var_os("TRIMTAB_LOG").map(|text| match text.to_str() {
        Some(text) => text.parse::<Targets>().map_err(|error| error.to_string()),
        None => Err("it is not UTF-8".to_owned()),
    });
    let targets = match wanted {
        Some(Ok(targets)) => targets,
        Some(Err(error)) => {
            let _ = writeln!(
                std::io::stderr(),
                "trimtab: TRIMTAB_LOG is ignored: {error}"
            );
            Targets::new().with_default(level)
        }
        None => Targets::new().with_default(level),
    };
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_target(false);
    tracing_subscriber::registry()
        .with(layer)
        .with(targets)
        .init();
}
