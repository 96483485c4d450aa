//! Runs `trimtab bench run`.

use super::args::Run;
use super::compare;
use super::facts;
use super::host::ThisHost;
use super::load::{Load, Server, stop_on_signals};
use super::tracks;
use crate::answer::{self, Delivery};
use crate::error::{CommandError, Kind};
use crate::progress::Draw;
use bench::track::{BuiltIn, Track};
use bench::trial;
use jiff::Timestamp;
use linux::regular_file;
use report::views::bench::{BenchAnswer, Ran, RanTrial, page};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Largest track that is read.
const TRACK_BYTES_MAX: u64 = 1 << 20;
/// One of the things compared: a track on a server.
struct Side {
    /// Name of its folder below `--into`; `None` with one side.
    name: Option<String>,
    track: Track,
    text: String,
    server: Server,
}

pub(super) fn run(arguments: &Run, quiet: bool) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let Measured {
        ran,
        source,
        warnings,
        failed,
    } = measure(arguments, quiet)?;
    let is_valid = ran.is_valid();
    let mut envelope = answer::envelope(source, BenchAnswer::Run(Box::new(ran)))?;
    envelope.warnings = warnings;
    delivery.give_envelope(&envelope, page)?;
    Ok(ExitCode::from(if failed { 2 } else { u8::from(!is_valid) }))
}

/// Trials that were run.
pub(super) struct Measured {
    pub ran: Ran,
    /// Tracks and servers, for display.
    pub source: String,
    pub warnings: Vec<String>,
    /// Whether a trial could not run.
    pub failed: bool,
}

/// Runs the trials that are asked for.
///
/// # Errors
/// When nothing could be measured.
pub(super) fn measure(arguments: &Run, quiet: bool) -> Result<Measured, CommandError> {
    let mut draw = Draw::new(quiet);
    draw.show("reading this host");
    let facts = arguments.facts.as_deref();
    let here = ThisHost::read(facts)?;
    if let Some(path) = facts {
        facts::refuse_old(path, here.host.read_at)?;
    }
    let sides = sides(arguments)?;
    let mut warnings: Vec<String> = sides
        .iter()
        .filter_map(|side| side.server.warning.clone())
        .collect();
    warnings.dedup();
    // Only now is there something to keep; until then a signal ends the process at once.
    let stop = stop_on_signals()?;
    let mut trials = Vec::new();
    let mut folders = vec![Vec::new(); sides.len()];
    let mut failed = false;
    for number in order(sides.len(), arguments.trials, arguments.interleave) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let side = &sides[number];
        wait_for_jobs(arguments, side, &here, &stop, &mut draw);
        let into = into(arguments, side);
        let load = Load {
            track: &side.track,
            text: &side.text,
            server: &side.server,
            into: &into,
            threads: arguments.threads,
            timeout: arguments.access.timeout,
            facts,
            is_of_experiment: false,
        };
        let (folder, trial) = match load.run(&stop, &mut draw) {
            Ok(done) => done,
            // Trials that ran are reported.
            Err(error) if !trials.is_empty() => {
                warnings.push(format!("no more trials: {error}"));
                failed = true;
                break;
            }
            Err(error) => return Err(error),
        };
        folders[number].push(folder.clone());
        if sides.len() > 1 || arguments.trials > 1 {
            draw.say(&format!("{}: {}", folder.display(), trial.verdict()));
        }
        trials.push(RanTrial {
            folder: folder.display().to_string(),
            trial,
        });
    }
    draw.clear();
    if sides.len() == 2 && arguments.trials == 1 {
        warnings.push(
            "not compared: one trial of each shows no difference; use --trials 5 --interleave"
                .to_owned(),
        );
    }
    let comparison = match &sides[..] {
        [one, other] if arguments.trials > 1 && !failed && !stop.load(Ordering::Relaxed) => {
            let sets: Vec<(String, Vec<PathBuf>)> = [one, other]
                .into_iter()
                .zip(folders)
                .map(|(side, folders)| (into(arguments, side).display().to_string(), folders))
                .collect();
            match compare::folders(&sets) {
                Ok((compared, left_out)) => {
                    warnings.extend(left_out);
                    Some(compared)
                }
                // The trials themselves are reported.
                Err(error) => {
                    warnings.push(format!("not compared: {}", error.message));
                    None
                }
            }
        }
        _ => None,
    };
    let source: Vec<String> = sides
        .iter()
        .map(|side| {
            let name = side
                .name
                .as_ref()
                .map_or(String::new(), |name| format!("{name}: "));
            format!("{name}{} on {}", side.track.name, side.server.target)
        })
        .collect();
    Ok(Measured {
        ran: Ran { trials, comparison },
        source: units::list::list(&source),
        warnings,
        failed,
    })
}

/// Tracks and targets, of which either is one or both are as many.
fn sides(arguments: &Run) -> Result<Vec<Side>, CommandError> {
    let count = match (arguments.tracks.len(), arguments.target.len()) {
        (1, 1) => 1,
        (1 | 2, 1 | 2) => 2,
        (tracks, targets) => {
            return Err(CommandError::usage(format!(
                "expected one or two tracks and one or two targets, found {tracks} and {targets}"
            ))
            .hint("run others one after the other, and compare their folders with `trimtab bench compare`"));
        }
    };
    if arguments.interleave && count < 2 {
        return Err(CommandError::usage(
            "--interleave alternates two tracks or two targets, found one of each",
        )
        .hint("name two, or use --trials alone"));
    }
    // Whatever is wrong with the call is said before anybody is asked.
    let mut tracks: Vec<(Track, String)> = Vec::new();
    for name in &arguments.tracks {
        let text = track_text(name)?;
        let track = text.parse().map_err(|error| {
            CommandError::because(Kind::Input, error)
                .at(name)
                .hint(
                    "see a track with `trimtab bench tracks ingest`, the schema with `trimtab bench tracks --schema`",
                )
        })?;
        tracks.push((track, text));
    }
    let mut servers: Vec<Server> = Vec::new();
    for url in &arguments.target {
        servers.push(Server::find(url, &arguments.access)?);
    }
    let sides = (0..count).map(|number| {
        let (track, text) = tracks.get(number).unwrap_or(&tracks[0]).clone();
        Side {
            name: (count > 1).then(|| ["a", "b"][number].to_owned()),
            track,
            text,
            server: servers.get(number).unwrap_or(&servers[0]).clone(),
        }
    });
    Ok(sides.collect())
}

/// The text of a track: of a file, else of a built-in one.
fn track_text(name: &str) -> Result<String, CommandError> {
    let path = Path::new(name);
    let is_name = !name.contains(['/', '.']);
    if is_name && !path.exists() {
        let built_in = BuiltIn::named(name).ok_or_else(|| tracks::unknown(name))?;
        return Ok(built_in.text.to_owned());
    }
    if path.is_dir() {
        return Err(CommandError::input("expected a track, found a folder")
            .at(name)
            .hint("name a TOML file in it; `trimtab bench tracks ingest` prints one"));
    }
    let mut text = String::new();
    let file = regular_file::open(path).map_err(|error| CommandError::unreadable(name, error))?;
    // One more than a track may have, so that a longer one is refused and not cut.
    file.take(TRACK_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| CommandError::unreadable(name, error))?;
    Ok(text)
}

/// Which side each trial is of: A B B A A B, so that a drift that is steady affects both alike.
fn order(sides: usize, trials: u32, interleave: bool) -> Vec<usize> {
    if interleave {
        let pairs = (0..trials).flat_map(|pair| if pair % 2 == 0 { [0, 1] } else { [1, 0] });
        return pairs.collect();
    }
    (0..sides)
        .flat_map(|side| (0..trials).map(move |_| side))
        .collect()
}

fn into(arguments: &Run, side: &Side) -> PathBuf {
    match &side.name {
        Some(name) => arguments.into.join(name),
        None => arguments.into.clone(),
    }
}

/// Says which jobs are due within the trial, and waits for them if asked.
fn wait_for_jobs(
    arguments: &Run,
    side: &Side,
    here: &ThisHost,
    stop: &AtomicBool,
    draw: &mut Draw,
) {
    let Some(jobs) = here.jobs().filter(|_| side.server.is_here) else {
        return;
    };
    let Some(within) = trial::due(&side.track, jobs, Timestamp::now()) else {
        return;
    };
    let Some(job) = within.jobs.first() else {
        return;
    };
    let due = format!(
        "{} is due within this trial, at {}",
        units::escape(&job.name),
        job.start
    );
    match (arguments.wait, job.free_in) {
        (true, Some(wait)) => {
            draw.say(&format!("{due}: waiting {}", units::duration(wait)));
            let until = Instant::now() + wait;
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                let left = until.saturating_duration_since(Instant::now());
                draw.show(&format!("starts in {}", units::duration(left)));
                thread::sleep(left.min(Duration::from_millis(500)));
            }
        }
        (false, Some(wait)) => draw.say(&format!(
            "{due}: the trial will be INVALID. Wait {} (--wait does), or move {}.",
            units::duration(wait),
            units::escape(&job.name)
        )),
        (_, None) => draw.say(&format!(
            "{due}, and no time of the next day is free of jobs: the trial will be INVALID. Move {}.",
            units::escape(&job.name)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_alternate_so_that_steady_drift_cancels() {
        assert_eq!(order(2, 3, true), [0, 1, 1, 0, 0, 1]);
        assert_eq!(order(2, 2, false), [0, 0, 1, 1]);
        assert_eq!(order(1, 3, false), [0, 0, 0]);
    }
}
