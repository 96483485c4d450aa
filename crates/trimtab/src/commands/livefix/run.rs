//! Runs `trimtab livefix`.

use super::args::{Install, Livefix, LivefixCommand, Place, Status, Uninstall};
use crate::answer::{self, AnswerArgs, Delivery};
use crate::commands;
use crate::commands::access::{self, parse_endpoint};
use crate::config::CheckConfig;
use crate::error::{CommandError, Kind};
use facts::cluster::LIVE_FIX_JAR;
use jiff::Timestamp;
use livefix::{Change, InstallError, Installation, Predicted, Process};
use report::views::livefix::{Edited, LivefixAnswer, page};
use rules::RerouteCost;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where packages put the agent.
const PACKAGE_FOLDER: &str = "/usr/share/trimtab";

/// Runs `trimtab livefix`.
///
/// # Errors
/// When the command cannot run.
pub fn run(arguments: &Livefix) -> Result<ExitCode, CommandError> {
    let named = commands::named(
        "livefix",
        arguments.command.as_ref(),
        arguments.schema,
        "status, install, uninstall",
    )?;
    match named {
        Some(LivefixCommand::Status(arguments)) if !arguments.answer.output.schema => {
            status(arguments)
        }
        Some(LivefixCommand::Install(arguments)) if !arguments.answer.output.schema => {
            install(arguments)
        }
        Some(LivefixCommand::Uninstall(arguments)) if !arguments.answer.output.schema => {
            uninstall(arguments)
        }
        _ => answer::print_schema::<LivefixAnswer>(),
    }
}

fn deliver(
    arguments: &AnswerArgs,
    source: String,
    answer: LivefixAnswer,
    code: u8,
) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(arguments, None)?;
    let envelope = answer::envelope(source, answer)?;
    delivery.give_envelope(&envelope, |envelope, _| page(envelope))?;
    Ok(ExitCode::from(code))
}

fn status(arguments: &Status) -> Result<ExitCode, CommandError> {
    let Some(of) = &arguments.of else {
        let message = "expected the URL of a cluster, or a process ID";
        return Err(CommandError::usage(message)
            .hint("for example trimtab livefix status http://localhost:9200"));
    };
    if let Ok(pid) = of.parse() {
        let process = Process::read(Path::new("/proc"), pid).map_err(|error| {
            CommandError::because(Kind::Input, error)
                .hint("pgrep -f org.elasticsearch.bootstrap.Elasticsearch prints the process")
        })?;
        let code = match (process.need, &process.jar) {
            (None, None) => 2,
            (Some(livefix::Need::Needed), None) => 1,
            _ => 0,
        };
        let answer = LivefixAnswer::Process(process);
        return deliver(&arguments.answer, format!("process {pid}"), answer, code);
    }
    let endpoint = parse_endpoint(of, "status")
        .map_err(|error| error.hint("or give the ID of a process on this host"))?;
    let options = access::options(
        &arguments.access,
        (&CheckConfig::default()).into(),
        cluster::options,
    )?;
    let client = access::client(options, &endpoint)?;
    let answers = cluster::ask(&client, &endpoint, Timestamp::now())?;
    let cluster = answers
        .facts()
        .map_err(|error| CommandError::because(Kind::Input, error))?;
    let predicted = rules::scan_cost(&cluster)
        .map(|(with_scan, with_fix)| (predicted(with_scan), predicted(with_fix)));
    let status = livefix::Status::of(&cluster, predicted);
    let code = status.is_complete().map_or(2, |whole| u8::from(!whole));
    let answer = LivefixAnswer::Cluster(Box::new(status));
    deliver(&arguments.answer, endpoint.to_string(), answer, code)
}

fn predicted(cost: RerouteCost) -> Predicted {
    Predicted {
        reroute_ms: cost.reroute_ms,
        create_least_ms: cost.create_ms.0,
        create_most_ms: cost.create_ms.1,
    }
}

fn install(arguments: &Install) -> Result<ExitCode, CommandError> {
    let installation = open(&arguments.place)?;
    let jar = match &arguments.jar {
        Some(jar) => jar.clone(),
        None => find_jar()?,
    };
    let changes = installation.install(&jar).map_err(install_error)?;
    edit(
        &arguments.place,
        &arguments.answer,
        &installation,
        changes,
        arguments.jar.as_deref(),
        LivefixAnswer::Install,
    )
}

fn uninstall(arguments: &Uninstall) -> Result<ExitCode, CommandError> {
    let installation = open(&arguments.place)?;
    let changes = installation.uninstall().map_err(install_error)?;
    edit(
        &arguments.place,
        &arguments.answer,
        &installation,
        changes,
        None,
        LivefixAnswer::Uninstall,
    )
}

fn open(place: &Place) -> Result<Installation, CommandError> {
    let Some(config) = &place.config else {
        return Err(CommandError::usage("--config is needed"));
    };
    Installation::open(config, place.home.as_deref()).map_err(install_error)
}

/// The agent beside this program, or where packages put it.
fn find_jar() -> Result<PathBuf, CommandError> {
    let beside = std::env::current_exe().ok();
    let beside = beside.as_deref().and_then(Path::parent).map(Path::to_owned);
    let folders: Vec<PathBuf> = beside
        .into_iter()
        .chain([PathBuf::from(PACKAGE_FOLDER)])
        .collect();
    let mut jars = folders.iter().map(|folder| folder.join(LIVE_FIX_JAR));
    jars.find(|jar| jar.is_file()).ok_or_else(|| {
        let folders: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        let message = format!("{LIVE_FIX_JAR} is not in {}", folders.join(", nor in "));
        CommandError::environment(message).hint("name it with --jar FILE")
    })
}

fn edit(
    place: &Place,
    answer: &AnswerArgs,
    installation: &Installation,
    changes: Vec<Change>,
    jar: Option<&Path>,
    answered: fn(Edited) -> LivefixAnswer,
) -> Result<ExitCode, CommandError> {
    // Whether the answer can be given is looked at before files are changed.
    Delivery::of(answer, None)?;
    answer::generated_at()?;
    if place.yes {
        installation.apply(&changes).map_err(|error| {
            CommandError::because(Kind::Environment, error).hint("run it as root (sudo)")
        })?;
    }
    let source = installation.config().display().to_string();
    let edited = Edited {
        version: installation.version.as_ref().map(ToString::to_string),
        is_done: place.yes,
        changes,
        command: again(place, jar),
    };
    deliver(answer, source, answered(edited), 0)
}

/// The options of this call, for commands that are printed.
fn again(place: &Place, jar: Option<&Path>) -> String {
    let config = place.config.as_deref();
    let options = [
        ("--config", config),
        ("--home", place.home.as_deref()),
        ("--jar", jar),
    ];
    let given = options.iter().filter_map(|(name, path)| {
        let path = path.as_ref()?.to_string_lossy();
        let path = shlex::try_quote(&path).ok()?;
        Some(format!("{name} {path}"))
    });
    given.collect::<Vec<_>>().join(" ")
}

fn install_error(error: InstallError) -> CommandError {
    let hint = match &error {
        InstallError::File { .. } => {
            "name the directory that holds jvm.options, as root (sudo); if jvm.options is a link, add \
             -javaagent:/PATH/trimtab-livefix.jar where your configuration management keeps it"
        }
        InstallError::NoVersion { .. } => "name the installation directory with --home DIR",
        InstallError::NotNeeded { .. } | InstallError::NotTried { .. } => {
            "`trimtab check --cluster URL` tells what else makes reroutes slow"
        }
        InstallError::Edit { .. } => "`trimtab livefix uninstall` removes the live fix",
        InstallError::NotInstalled { .. } => {
            "options may come from ES_JAVA_OPTS as well: see `trimtab livefix status PID`"
        }
    };
    let kind = match &error {
        InstallError::File { .. } => Kind::Environment,
        InstallError::NotNeeded { .. } | InstallError::NotTried { .. } => Kind::Refused,
        _ => Kind::Input,
    };
    CommandError::because(kind, error).hint(hint)
}
