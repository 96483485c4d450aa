//! Runs `trimtab bench trim`.

use super::args::{Trim, Trimmer};
use super::host::drive_writes;
use super::load::stop_on_signals;
use super::workspace;
use crate::answer::{self, Delivery};
use crate::error::{CommandError, Kind};
use crate::progress::Draw;
use experiments::trims::{self, Drive, Outcome, Plan, RunError, Runs, Step, Trims, WorkloadError};
use facts::host::DriveWrites;
use report::views::bench::{BenchAnswer, page};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Seed of everything random: two experiments write the same.
const SEED: u64 = 1;

pub(super) fn run(arguments: &Trim, quiet: bool) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut draw = Draw::new(quiet);
    let stop = stop_on_signals()?;
    let mut warnings = Vec::new();
    let outcome = if arguments.model {
        draw.show("simulating");
        let mut watch = |_| {
            if stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let arms = trims::of_model(arguments.runs, SEED, &mut watch)
            .map_err(|error| CommandError::because(Kind::Environment, error))?;
        draw.clear();
        Outcome::new(Drive::Model, None, arms)
    } else {
        let device = arguments.device.as_deref();
        let place = workspace::place(device, arguments.overwrite, arguments.size, &mut draw)?;
        let within = arguments.loop_dir.clone();
        // On a device, the workspace has a mount point only.
        let within = within.unwrap_or_else(|| PathBuf::from("/var/tmp"));
        let trimmer = trimmer(arguments.trimmer)?;
        let plan = Plan {
            place,
            iterations: arguments.runs,
            trimmer: trimmer.clone(),
            threads: arguments.threads,
            seed: SEED,
        };
        let mut arms = Vec::new();
        let (early, left) = workspace::with(&within, &mut draw, |workspace, draw| {
            let mut shown = Shown {
                draw,
                all: arguments.runs,
            };
            let ended = trims::run(&plan, workspace, &stop, &mut shown, &mut |arm| {
                arms.push(arm);
            });
            match ended {
                Ok(()) => Ok(None),
                Err(error) if arms.is_empty() => {
                    Err(CommandError::because(Kind::Environment, error))
                }
                Err(RunError::Workload(WorkloadError::Stopped)) => Ok(Some("stopped".to_owned())),
                Err(error) => Ok(Some(error.to_string())),
            }
        })?;
        warnings = left;
        warnings.extend(early.map(|why| format!("the second arm did not complete: {why}")));
        let drive = match (device, &arguments.loop_dir) {
            (Some(device), _) => Drive::Device(device.display().to_string()),
            (None, _) => Drive::Image(within.display().to_string()),
        };
        Outcome::new(drive, Some(trimmer.name.to_owned()), arms)
    };
    let is_whole = outcome.arms.len() == Trims::ALL.len();
    let source = match &outcome.drive {
        Drive::Device(path) => path.clone(),
        Drive::Image(folder) => format!("a loop device in {folder}"),
        Drive::Model => "a simulated drive".to_owned(),
    };
    let mut envelope = answer::envelope(source, BenchAnswer::Trim(Box::new(outcome)))?;
    envelope.warnings.append(&mut warnings);
    delivery.give_envelope(&envelope, page)?;
    Ok(ExitCode::from(if is_whole { 0 } else { 2 }))
}

fn trimmer(asked: Trimmer) -> Result<trims::Trimmer, CommandError> {
    Ok(match asked {
        Trimmer::Fstrim => trims::Trimmer {
            name: "fstrim",
            program: PathBuf::from("fstrim"),
            arguments: Vec::new(),
        },
        Trimmer::Trimtab => trims::Trimmer {
            name: "trimtab trim",
            program: std::env::current_exe()
                .map_err(|error| CommandError::because(Kind::Environment, error))?,
            arguments: vec!["trim", "--now", "--quiet"],
        },
    })
}

/// Draws progress, and asks the drive.
struct Shown<'a> {
    draw: &'a mut Draw,
    all: u32,
}

impl Runs for Shown<'_> {
    fn step(&mut self, trims: Trims, number: u32, step: Step) {
        let step = match step {
            Step::Make => "making the filesystem",
            Step::Trim => "trimming",
            Step::Write => "writing",
        };
        self.draw.show(&format!(
            "{}: run {} of {}: {step}",
            trims.label(),
            number + 1,
            self.all
        ));
    }

    fn drive_writes(&mut self, device: &Path) -> Option<DriveWrites> {
        drive_writes(device)
    }
}
