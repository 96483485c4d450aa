//! Runs `trimtab bench compare`.

use super::args::Compare;
use crate::answer::{self, Delivery};
use crate::error::{CommandError, Kind};
use bench::compare::{Options, Trial, TrialSet, compare};
use bench::results::{Reading, read_path};
use facts::Skipped;
use report::views::bench::{BenchAnswer, Compared, page};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(arguments: &Compare) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut sets = Sets {
        include_invalid: arguments.include_invalid,
        ..Sets::default()
    };
    for path in &arguments.sets {
        sets.read(path)?;
    }
    let Sets {
        found: sets,
        skipped,
        mut warnings,
        ..
    } = sets;
    let asked = Options {
        margin: arguments.margin,
        ..Options::default()
    };
    let report =
        compare(&sets, &asked).map_err(|error| CommandError::because(Kind::Input, error))?;
    let compared = Compared::new(report, arguments.fail_on_regression);
    let has_regressed = compared.has_regressed;
    let trials = sets.iter().map(|set| set.trials.len()).sum::<usize>();
    let source = format!(
        "{} in {}",
        units::count(trials as u64, "trial"),
        units::count(sets.len() as u64, "set")
    );
    let mut envelope = answer::envelope(&source, BenchAnswer::Compare(Box::new(compared)))?;
    envelope.skipped = skipped;
    envelope.warnings.append(&mut warnings);
    delivery.give_envelope(&envelope, page)?;
    Ok(ExitCode::from(u8::from(has_regressed)))
}

/// Compares sets of trials' folders, the first being the baseline; also returns what was left out.
pub(super) fn folders(
    named: &[(String, Vec<PathBuf>)],
) -> Result<(Compared, Vec<String>), CommandError> {
    let mut sets = Sets::default();
    for (name, folders) in named {
        let mut reading = Reading::default();
        for folder in folders {
            let one = read_path(folder);
            let one = one.map_err(|error| CommandError::because(Kind::Input, error))?;
            reading.trials.extend(one.trials);
        }
        sets.add(name.clone(), reading)?;
    }
    let report = compare(&sets.found, &Options::default())
        .map_err(|error| CommandError::because(Kind::Input, error))?;
    Ok((Compared::new(report, None), sets.warnings))
}

/// Sets of trials as they are read.
#[derive(Default)]
struct Sets {
    include_invalid: bool,
    found: Vec<TrialSet>,
    skipped: Vec<Skipped>,
    warnings: Vec<String>,
}

impl Sets {
    fn read(&mut self, path: &Path) -> Result<(), CommandError> {
        let reading = read_path(path).map_err(|error| {
            CommandError::because(Kind::Input, error).hint(
                "name trials of `trimtab bench run`, results of Rally, OpenSearch Benchmark, hyperfine or oha, \
                 or a folder of them",
            )
        })?;
        self.add(path.display().to_string(), reading)
    }

    /// Adds a set, without its INVALID trials.
    fn add(&mut self, name: String, reading: Reading) -> Result<(), CommandError> {
        self.skipped.extend(reading.skipped);
        let all = reading.trials.len();
        let (invalid, valid): (Vec<Trial>, Vec<Trial>) = reading
            .trials
            .into_iter()
            .partition(|trial| !trial.invalid.is_empty() && !self.include_invalid);
        if let Some(first) = invalid.first() {
            let left_out = format!(
                "{name}: {} of {} INVALID ({}: {})",
                invalid.len(),
                units::count(all, "trial"),
                first.name,
                first.invalid.join("; ")
            );
            if valid.is_empty() {
                return Err(CommandError::input(left_out).hint(
                    "remove the causes and run the trials again, or compare them nevertheless with --include-invalid",
                ));
            }
            self.warnings.push(format!("left out of {left_out}"));
        }
        self.found.push(TrialSet {
            name,
            trials: valid,
        });
        Ok(())
    }
}
