//! A bare drive under a pattern of page writes: the write amplification of textbooks.

use super::args::{Scene, SsdFormat};
use super::bare_answer::{Answer, Asked, DriveRow, Point, Theory, Wear, csv, page, text};
use super::document;
use super::memory;
use super::spec::{Basis, PAGES_PER_BLOCK};
use super::values;
use crate::answer::envelope;
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::output;
use crate::progress::Meter;
use flash::ftl::{Collection, Counters, Ftl, PowerOn, Settings, Timeless};
use flash::geometry::Geometry;
use flash::theory;
use flash::workload::database::Pattern;
use flash::workload::pages::{HotCold, Sequential, Uniform, UniformTrim, Zipfian};
use flash::workload::{self, PageWorkload};

/// Pages that are counted at least when the call does not say.
const COUNTED_PAGES_MIN: u64 = 1 << 20;
/// Drive writes of the warm-up when the call does not say.
const WARM_UP_PASSES: f64 = 8.0;
/// Drive writes that are counted when the call does not say.
const PASSES: f64 = 4.0;
/// Points of the series.
const POINTS: u64 = 96;
/// It is told how far it is after so many pages, some milliseconds.
const TOLD_PAGES: u64 = 1 << 16;
/// Greedy's closed form holds from here on: with 8 pages a block it is within 0.5 % of the simulation, with 4 off
/// by up to 13 %, with 1 nothing is ever moved.
const GREEDY_PAGES_MIN: u32 = 8;
/// A drive is in its steady state when what is left of its first state is less than this, of its spare area.
const LEFT_MAX: f64 = 0.01;

/// What was asked of a bare drive.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its shape.
    pub geometry: Geometry,
    /// Spare area as asked; the geometry has what was built.
    pub over_provisioning: f64,
    /// Victims.
    pub collection: Collection,
    /// Who writes.
    pub pattern: Pattern,
    /// Share of requests that trim.
    pub trim_share: f64,
    /// Hot and cold writes are kept apart.
    pub streams: bool,
    /// Moved pages are kept apart.
    pub moved_apart: bool,
    /// The drive before.
    pub power_on: PowerOn,
    /// Seed.
    pub seed: u64,
    /// Pages written before anything is counted.
    pub warm_up_pages: u64,
    /// Pages that are counted.
    pub counted_pages: u64,
}

impl Setting {
    /// Puts together what was asked.
    ///
    /// # Errors
    /// Numbers of which there is no drive, and words that do not fit together.
    pub fn new(
        scene: &Scene,
        op: Option<f64>,
        policy: Option<Collection>,
        trim_share: f64,
        config: &SsdConfig,
    ) -> Result<Self, CommandError> {
        let (bare, usage) = (&scene.bare, |message: String| {
            CommandError::new(Kind::Usage, message)
        });
        refuse_days(scene)?;
        let logical_pages = bare
            .logical_pages
            .ok_or_else(|| usage("expected --logical-pages N for a bare drive".to_owned()))?;
        let basis = Basis::new(&scene.drive, op, policy, config, 4096)?;
        let geometry = Geometry::new(
            logical_pages,
            basis.over_provisioning,
            basis.pages_per_block.unwrap_or(PAGES_PER_BLOCK),
            basis.page_bytes,
        )
        .map_err(|error| {
            usage(error.to_string()).hint("take fewer --logical-pages, or less --op")
        })?;
        let pattern = match &scene.workload {
            None => Pattern::Uniform,
            Some(mix) => mix.single_pattern().ok_or_else(|| {
                usage(format!(
                    "--workload {mix} works on files, and --logical-pages is a bare drive"
                ))
                .hint(format!("a bare drive takes {}", values::PATTERNS))
                .hint("files need --capacity instead of --logical-pages")
            })?,
        };
        let setting = Self {
            geometry,
            over_provisioning: basis.over_provisioning,
            collection: basis.collection,
            pattern,
            trim_share,
            streams: bare.streams,
            // As in the papers, beside whose closed forms it stands.
            moved_apart: basis.moved_apart.unwrap_or(false),
            power_on: bare.power_on.unwrap_or(PowerOn::Filled),
            seed: scene.seed,
            warm_up_pages: pages_of(bare.warm_up.unwrap_or(WARM_UP_PASSES), logical_pages),
            counted_pages: match (bare.writes, bare.passes) {
                (Some(writes), _) if writes > pages_of(values::PASSES_MAX, logical_pages) => {
                    return Err(usage(format!(
                        "--writes: expected at most a million drive writes, found {writes} pages \
                         of a drive of {logical_pages}"
                    )));
                }
                (Some(writes), _) => writes,
                (None, Some(passes)) => pages_of(passes, logical_pages),
                (None, None) => pages_of(PASSES, logical_pages).max(COUNTED_PAGES_MIN),
            },
        };
        setting.check()?;
        Ok(setting)
    }

    fn check(&self) -> Result<(), CommandError> {
        let usage = |message: String| CommandError::new(Kind::Usage, message);
        let pattern = self.pattern;
        if self.streams && !matches!(pattern, Pattern::HotCold { .. }) {
            return Err(usage(format!(
                "--streams keeps hot and cold writes apart, and {pattern} has no hot ones"
            ))
            .hint("add --workload hot-cold:20/80"));
        }
        if self.trim_share > 0.0 && pattern != Pattern::Uniform {
            return Err(usage(format!(
                "--trim-share goes with uniform writes only, found --workload {pattern}"
            ))
            .hint("leave --workload out")
            .hint("below a filesystem (--capacity) every workload is trimmed: --trim online"));
        }
        if let Pattern::HotCold { hot_share, .. } = pattern {
            let pages = self.pages();
            let hot = (f64::from(pages) * hot_share).round();
            if hot < 1.0 || hot >= f64::from(pages) {
                return Err(usage(format!(
                    "--workload {pattern}: {pages} pages cannot be divided so"
                ))
                .hint("take more pages"));
            }
        }
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation)] // the geometry saw to it
    fn pages(&self) -> u32 {
        self.geometry.logical_pages as u32
    }

    fn settings(&self) -> Settings {
        Settings {
            collection: self.collection,
            streams: if self.streams { 2 } else { 1 },
            separate_moved: self.moved_apart,
            seed: self.seed,
            ..Settings::new(self.geometry)
        }
    }

    /// Bytes that its tables take, more or less.
    pub fn table_bytes(&self) -> u64 {
        let trims = if self.trim_share > 0.0 {
            self.geometry.logical_pages / 8
        } else {
            0
        };
        self.geometry.table_bytes() + trims
    }

    fn workload(&self) -> Result<Box<dyn PageWorkload>, CommandError> {
        let pages = self.pages();
        Ok(match self.pattern {
            Pattern::Uniform if self.trim_share > 0.0 => {
                let all_in_use = self.power_on != PowerOn::Empty;
                Box::new(
                    UniformTrim::new(pages, self.trim_share, all_in_use, self.seed)
                        .map_err(|error| CommandError::new(Kind::Usage, error.to_string()))?,
                )
            }
            Pattern::Uniform => Box::new(Uniform::new(0..pages, self.seed)),
            Pattern::Zipf { exponent } => Box::new(Zipfian::new(0..pages, exponent, self.seed)),
            Pattern::Sequential => Box::new(Sequential::new(0..pages)),
            Pattern::HotCold {
                hot_share,
                hot_traffic,
            } => {
                let streams = self.streams.then_some((0, 1));
                Box::new(HotCold::new(
                    0..pages,
                    hot_share,
                    hot_traffic,
                    streams,
                    self.seed,
                ))
            }
        })
    }

    /// The closed form: its value, and whose it is.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn theory(&self) -> Result<(f64, &'static str), &'static str> {
        let (expected, formula) = self
            .closed_form()
            .ok_or("no closed form for this combination")?;
        let few = self.geometry.pages_per_block < GREEDY_PAGES_MIN;
        if few && self.collection == Collection::Greedy && self.pattern != Pattern::Sequential {
            return Err("left out: greedy's closed form holds from 8 pages a block on");
        }
        if self.is_steady() {
            Ok((expected, formula))
        } else {
            Err(
                "left out: it is for the steady state, and the drive is not there yet (a longer \
                 --warm-up)",
            )
        }
    }

    /// Whether the drive has forgotten how it began when counting begins: all of it, its spare area
    /// included, was written once, and of what was unused (or, with trims, in use) in the beginning less is
    /// left than a hundredth of the spare area.
    #[allow(clippy::cast_precision_loss)] // a ratio
    fn is_steady(&self) -> bool {
        let op = self.geometry.over_provisioning();
        let warm_up = self.warm_up_pages as f64 / self.geometry.logical_pages as f64;
        let written = match self.power_on {
            PowerOn::Aged { passes } => warm_up + f64::from(passes),
            PowerOn::Filled | PowerOn::Empty => warm_up,
        };
        // Pages that were not touched yet, by how often those of their class are.
        let untouched = match self.pattern {
            // Nothing is moved from the first page on.
            Pattern::Sequential => return true,
            Pattern::HotCold {
                hot_share,
                hot_traffic,
            } => [
                (hot_share, hot_traffic),
                (1.0 - hot_share, 1.0 - hot_traffic),
            ]
            .map(|(pages, writes)| pages * (-warm_up * writes / pages).exp())
            .iter()
            .sum(),
            Pattern::Uniform | Pattern::Zipf { .. } => (-warm_up).exp(),
        };
        let trims = self.trim_share;
        let left = match self.power_on {
            PowerOn::Empty => untouched,
            PowerOn::Filled | PowerOn::Aged { .. } => trims / (1.0 - trims) * untouched,
        };
        let spare = theory::trimmed_over_provisioning(op, trims);
        written >= 1.0 + op && left <= LEFT_MAX * spare
    }

    fn closed_form(&self) -> Option<(f64, &'static str)> {
        let op = self.geometry.over_provisioning();
        let np = self.geometry.pages_per_block;
        let trimmed = self.trim_share > 0.0;
        match self.pattern {
            Pattern::Uniform => {
                let op = theory::trimmed_over_provisioning(op, self.trim_share);
                Some(match self.collection {
                    Collection::Fifo if trimmed => (
                        theory::fifo(op),
                        "FIFO (Desnoyers 2012) with trims (Frankie, Hughes, Kreutz-Delgado 2012)",
                    ),
                    Collection::Fifo => (theory::fifo(op), "FIFO (Desnoyers 2012)"),
                    Collection::Greedy if trimmed => (
                        theory::greedy(op, np),
                        "greedy (Desnoyers 2012) with trims (Frankie, Hughes, Kreutz-Delgado 2012)",
                    ),
                    Collection::Greedy => (theory::greedy(op, np), "greedy (Desnoyers 2012)"),
                    Collection::DChoices(choices) if trimmed => (
                        theory::d_choices(op, np, choices),
                        "d choices (Van Houdt 2013) with trims (Frankie, Hughes, Kreutz-Delgado \
                         2012)",
                    ),
                    Collection::DChoices(choices) => (
                        theory::d_choices(op, np, choices),
                        "d choices (Van Houdt 2013)",
                    ),
                })
            }
            Pattern::Sequential if !matches!(self.collection, Collection::DChoices(_)) => {
                Some((1.0, "whole blocks become invalid one after the other"))
            }
            Pattern::HotCold {
                hot_share,
                hot_traffic,
            } if self.collection == Collection::Fifo && !self.streams && !self.moved_apart => {
                let class = |share_of_pages, share_of_writes| theory::Class {
                    share_of_pages,
                    share_of_writes,
                };
                let classes = [
                    class(hot_share, hot_traffic),
                    class(1.0 - hot_share, 1.0 - hot_traffic),
                ];
                let expected = theory::mixed_fifo(op, &classes).ok()?;
                Some((expected, "hot and cold mixed, FIFO (Desnoyers 2014)"))
            }
            _ => None,
        }
    }

    /// Simulates it; `watch` hears how many of how many pages are written.
    ///
    /// # Errors
    /// A drive that cannot be built.
    pub fn simulate(&self, watch: &dyn Fn(u64, u64)) -> Result<Answer, CommandError> {
        let mut ftl = Ftl::new(self.settings(), self.power_on, Timeless)
            .map_err(|error| CommandError::new(Kind::Usage, error.to_string()))?;
        let mut workload = self.workload()?;
        let mut series = Series {
            logical_pages: self.geometry.logical_pages,
            written: 0,
            points: Vec::new(),
            total: self.warm_up_pages + self.counted_pages,
            watch,
        };
        series.run(&mut ftl, workload.as_mut(), self.warm_up_pages, true);
        let counted = series.run(&mut ftl, workload.as_mut(), self.counted_pages, false);
        let write_amplification = counted.write_amplification();
        let theory = self.theory();
        let no_theory = theory.err();
        let theory = theory.ok().map(|(expected, formula)| Theory {
            write_amplification: expected,
            difference: write_amplification.map(|found| found / expected - 1.0),
            formula,
        });
        Ok(Answer {
            kind: "drive",
            write_amplification,
            theory,
            no_theory,
            drive: DriveRow {
                logical_pages: self.geometry.logical_pages,
                page_bytes: self.geometry.page_bytes,
                pages_per_block: self.geometry.pages_per_block,
                data_blocks: self.geometry.data_blocks,
                over_provisioning: self.geometry.over_provisioning(),
                table_bytes: ftl.table_bytes(),
                digest: format!("{:016x}", ftl.digest()),
            },
            asked: Asked {
                over_provisioning: self.over_provisioning,
                policy: values::policy_word(self.collection),
                workload: self.pattern.to_string(),
                trim_share: self.trim_share,
                streams: self.streams,
                moved_apart: self.moved_apart,
                power_on: power_on_word(self.power_on),
                seed: self.seed,
                warm_up_pages: self.warm_up_pages,
                counted_pages: self.counted_pages,
            },
            counters: counted.into(),
            wear: Wear::of(&ftl),
            series: series.points,
        })
    }
}

/// Words of another kind of run are not passed over.
fn refuse_days(scene: &Scene) -> Result<(), CommandError> {
    let days = &scene.days;
    let given = [
        ("--writes-per-day", days.writes_per_day.is_some()),
        ("--drives", days.drives.is_some()),
        ("--chunk", days.chunk.is_some()),
        ("--days", days.days.is_some()),
        ("--warm-up-days", days.warm_up_days.is_some()),
        ("--interval", days.interval.is_some()),
        ("--rhythm", days.rhythm.is_some()),
        ("--reads", days.reads.is_some()),
        ("--history", days.history.is_some()),
        ("--simulated-pages", days.simulated_pages.is_some()),
        ("--media-written", days.media_written.is_some()),
        ("--root", days.root.is_some()),
        ("--bundle", days.bundle.is_some()),
        ("--preset", scene.drive.preset.is_some()),
    ];
    refuse(
        &given,
        "--logical-pages is a bare drive, which knows no days and no time",
    )
}

/// The first word of a list that was given and does not belong here.
///
/// # Errors
/// If there is one.
pub fn refuse(given: &[(&str, bool)], why: &str) -> Result<(), CommandError> {
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((word, _)) => Err(CommandError::new(
            Kind::Usage,
            format!("{word} does not go together with the rest: {why}"),
        )
        .hint(format!(
            "leave {word} out, or choose the other kind of run: --capacity SIZE for a drive below \
             a filesystem, --logical-pages N for a bare one"
        ))),
    }
}

fn power_on_word(power_on: PowerOn) -> String {
    match power_on {
        PowerOn::Empty => "empty".to_owned(),
        PowerOn::Filled => "filled".to_owned(),
        PowerOn::Aged { passes } => format!("aged:{passes}"),
    }
}

/// Pages of so many drive writes.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // at most a million times 2^32
fn pages_of(passes: f64, logical_pages: u64) -> u64 {
    (passes * logical_pages as f64).ceil() as u64
}

/// Write amplification by stretches.
struct Series<'a> {
    logical_pages: u64,
    written: u64,
    points: Vec<Point>,
    total: u64,
    watch: &'a dyn Fn(u64, u64),
}

impl Series<'_> {
    /// Runs so many pages, a point for each stretch; returns what was done.
    fn run(
        &mut self,
        ftl: &mut Ftl<Timeless>,
        workload: &mut dyn PageWorkload,
        pages: u64,
        warm_up: bool,
    ) -> Counters {
        let stretch = (self.total / POINTS).max(1);
        ftl.reset_counters();
        let mut before = Counters::default();
        while before.host_pages < pages {
            let wanted = stretch.min(pages - before.host_pages);
            let mut written = 0;
            while written < wanted {
                // Batches are the same as if it were told once.
                written += workload::run(ftl, workload, TOLD_PAGES.min(wanted - written));
                (self.watch)((self.written + written).min(self.total), self.total);
            }
            let now = ftl.counters();
            let done = since(now, before);
            self.written += done.host_pages;
            #[allow(clippy::cast_precision_loss)] // a ratio
            let drive_writes = self.written as f64 / self.logical_pages as f64;
            self.points.push(Point {
                drive_writes,
                warm_up,
                write_amplification: done.write_amplification(),
                counters: done.into(),
            });
            before = now;
        }
        before
    }
}

fn since(now: Counters, before: Counters) -> Counters {
    Counters {
        host_pages: now.host_pages - before.host_pages,
        moved_pages: now.moved_pages - before.moved_pages,
        trimmed_pages: now.trimmed_pages - before.trimmed_pages,
        erased_blocks: now.erased_blocks - before.erased_blocks,
    }
}

/// Runs a bare drive and prints what it did.
///
/// # Errors
/// Numbers of which there is no drive; too little memory.
pub fn run(setting: &Setting, format: SsdFormat, quiet: bool) -> Result<(), CommandError> {
    memory::require(setting.table_bytes())?;
    let meter = Meter::new("simulating", 1, quiet);
    let answer = setting.simulate(&|done, total| meter.tell(0, done, total))?;
    drop(meter);
    match format {
        SsdFormat::Json => {
            output::print(&envelope("arguments", document::Answer::Drive(Box::new(answer)))?.json())
        }
        SsdFormat::Csv => output::print(&csv(&answer)),
        SsdFormat::Text => {
            let columns = usize::from(output::terminal_columns());
            output::print(&text(&answer, columns, output::use_unicode()))
        }
        SsdFormat::Html => output::print(&page(setting, &answer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(power_on: PowerOn, warm_up: f64, pages_per_block: u32) -> Setting {
        let geometry = Geometry::new(1 << 16, 0.07, pages_per_block, 4096).unwrap();
        Setting {
            geometry,
            over_provisioning: 0.07,
            collection: Collection::Greedy,
            pattern: Pattern::Uniform,
            trim_share: 0.0,
            streams: false,
            moved_apart: false,
            power_on,
            seed: 1,
            warm_up_pages: pages_of(warm_up, 1 << 16),
            counted_pages: 1 << 16,
        }
    }

    /// By simulation the closed form is off by 73 % after one drive write of an empty drive, by 2 % after six.
    #[test]
    fn theory_stands_where_it_holds() {
        let theory = |power_on, warm_up| setting(power_on, warm_up, 64).theory();
        for warm_up in [0.0, 1.0, 6.0] {
            let why = theory(PowerOn::Empty, warm_up).unwrap_err();
            assert!(why.contains("steady state"), "{warm_up}: {why}");
        }
        assert!(theory(PowerOn::Empty, WARM_UP_PASSES).is_ok());
        assert!(theory(PowerOn::Filled, 1.0).is_err());
        assert!(theory(PowerOn::Filled, 1.2).is_ok());
        assert!(theory(PowerOn::Aged { passes: 2 }, 0.0).is_ok());
        let trimmed = |warm_up| Setting {
            trim_share: 0.3,
            ..setting(PowerOn::Filled, warm_up, 64)
        };
        assert!(trimmed(2.0).theory().is_err() && trimmed(WARM_UP_PASSES).theory().is_ok());
        let small = |collection| Setting {
            collection,
            ..setting(PowerOn::Filled, WARM_UP_PASSES, 1)
        };
        assert!(
            small(Collection::Greedy)
                .theory()
                .unwrap_err()
                .contains("8 pages")
        );
        assert!(small(Collection::Fifo).theory().is_ok());
        let zipf = Setting {
            pattern: Pattern::Zipf { exponent: 1.0 },
            ..setting(PowerOn::Filled, WARM_UP_PASSES, 64)
        };
        assert!(zipf.theory().unwrap_err().starts_with("no closed form"));
    }

    #[test]
    fn long_runs_are_told_often() {
        let setting = Setting {
            geometry: Geometry::new(4096, 0.28, 64, 4096).unwrap(),
            counted_pages: 4 * TOLD_PAGES * POINTS,
            ..setting(PowerOn::Filled, 0.0, 64)
        };
        let told = std::cell::Cell::new(0);
        let answer = setting
            .simulate(&|done, total| {
                assert!(done <= total);
                told.set(told.get() + 1);
            })
            .unwrap();
        assert!(told.get() >= 4 * POINTS, "{}", told.get());
        assert!(answer.series.len() as u64 <= POINTS + 2);
    }
}
