//! The `trimtab` binary: arguments, wiring, exit codes.

mod answer;
mod arguments;
mod children;
mod cli;
mod commands;
mod config;
mod error;
mod helper;
mod output;
mod progress;
mod values;

use clap::Parser;
use cli::{Cli, Command};
use config::Config;
use error::CommandError;
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
    // clap prints help to stdout with 0 and usage errors to stderr with 2, as the contract says.
    let cli = Cli::parse();
    start_log(cli.verbose, cli.quiet);
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode, CommandError> {
    match cli.command {
        Command::Check(arguments) => {
            let config = Config::load(cli.config.as_deref());
            commands::check::run(&arguments, config, cli.verbose > 0)
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
        Command::Ssd(arguments) => {
            let config = Config::load(cli.config.as_deref())?;
            commands::ssd::run(&arguments, &config, cli.quiet)
        }
        Command::Shards(arguments) => commands::shards::run(&arguments),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { directory } => commands::manual::pages(&directory),
    }
}

/// Messages go to stderr. `TRIMTAB_LOG` takes targets and levels (`host=debug,rules=trace`).
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
