//! A film of a small drive: every page of every block, so that one sees what collection does.
//!
//! The drive that was asked for has too many pages to be looked at. This one has some forty blocks of 64
//! pages, the same spare area, policy, fill and kind of load, and is trimmed after as many drive
//! writes.

use super::bare::Setting;
use super::days::Plan;
use super::values;
use flash::filesystem::{Discarding, Filesystem, Reach, Settings as FsSettings};
use flash::ftl::{Ftl, PageState, PowerOn, Settings, Timeless};
use flash::geometry::Geometry;
use flash::scenario::{Kind, Trims};
use flash::workload::churn::{Churn, Churning};
use flash::workload::database::{Database, Pattern, Updating};
use flash::workload::log::{Log, Logging};
use flash::workload::lsm::{Lsm, LsmTree};
use flash::workload::mix::Mix;
use flash::workload::pages::{HotCold, Sequential, Uniform, UniformTrim, Zipfian};
use flash::workload::segments::{Indexing, Segments};
use flash::workload::{self, Namespace, PageWorkload, Workload};

/// Pages of a block: eight rows of eight.
const PAGES_PER_BLOCK: u32 = 64;
/// Pages that the host can address.
const PAGES: u32 = 40 * PAGES_PER_BLOCK;
/// Pictures of a film.
const FRAMES: u32 = 60;
/// Drive writes before the first picture, and during the film where nothing sets its length.
const WARM_UP: u32 = 2;
const LENGTH: f64 = 1.5;
/// The film shows so many trims, more or less.
const CYCLES: f64 = 2.3;
/// Drive writes of a film, at least and at most.
const LENGTH_RANGE: (f64, f64) = (0.5, 6.0);
/// Space that a workload of files needs here.
const SPACE_MIN: u32 = 256;

/// What a page holds; two bits of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    /// Data in use.
    Live = 0,
    /// Data that the host deleted and the drive takes to be in use.
    Stale = 1,
    /// Overwritten or discarded.
    Invalid = 2,
    /// Erased.
    Free = 3,
}

/// A film.
#[derive(Debug, Clone)]
pub struct Film {
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks.
    pub blocks: usize,
    /// What it shows.
    pub caption: String,
    /// Whether there are pages that the host deleted and the drive knows nothing of.
    pub has_stale: bool,
    /// Pictures in order.
    pub frames: Vec<Frame>,
}

/// A picture.
#[derive(Debug, Clone)]
pub struct Frame {
    /// When, and what happened since the picture before.
    pub caption: String,
    /// Two pages by hexadecimal digit, the first in the high bits: 0 live, 1 stale, 2 invalid, 3
    /// free. Blocks one after the other.
    pub pages: String,
}

/// The small drive; `None` where there is no such one.
fn drive(
    op: f64,
    collection: flash::ftl::Collection,
    apart: bool,
    on: PowerOn,
    seed: u64,
) -> Option<Ftl<Timeless>> {
    let geometry = Geometry::new(PAGES.into(), op, PAGES_PER_BLOCK, 4096).ok()?;
    let settings = Settings {
        collection,
        separate_moved: apart,
        seed,
        ..Settings::new(geometry)
    };
    Ftl::new(settings, on, Timeless).ok()
}

/// A bare drive's film.
pub fn of_pattern(setting: &Setting) -> Film {
    let mut film = Film::new(format!(
        "A drive of {PAGES} pages with the same spare area, policy ({}) and writes ({}).",
        values::policy_word(setting.collection),
        setting.pattern
    ));
    let op = setting.over_provisioning;
    let apart = setting.moved_apart;
    let Some(mut ftl) = drive(op, setting.collection, apart, PowerOn::Filled, setting.seed) else {
        return film;
    };
    let range = 0..PAGES;
    let seed = setting.seed;
    let mut workload: Box<dyn PageWorkload> = match setting.pattern {
        Pattern::Uniform if setting.trim_share > 0.0 => {
            match UniformTrim::new(PAGES, setting.trim_share, true, seed) {
                Ok(workload) => Box::new(workload),
                Err(_) => return film,
            }
        }
        Pattern::Uniform => Box::new(Uniform::new(range, seed)),
        Pattern::Sequential => Box::new(Sequential::new(range)),
        Pattern::Zipf { exponent } => Box::new(Zipfian::new(range, exponent, seed)),
        Pattern::HotCold {
            hot_share,
            hot_traffic,
        } => {
            // At least a page in either part.
            let share = hot_share.clamp(1.0 / f64::from(PAGES), 1.0 - 1.0 / f64::from(PAGES));
            Box::new(HotCold::new(range, share, hot_traffic, None, seed))
        }
    };
    workload::run(&mut ftl, workload.as_mut(), u64::from(PAGES * WARM_UP));
    film.shoot(&ftl, 0.0, "", |_| false);
    let step = steps(LENGTH);
    for frame in 1..FRAMES {
        ftl.reset_counters();
        workload::run(&mut ftl, workload.as_mut(), step.into());
        film.shoot(&ftl, at(frame, step), "", |_| false);
    }
    film
}

/// The film of a drive below a filesystem.
pub fn of_plan(plan: &Plan) -> Film {
    let scenario = &plan.scenario;
    let spec = &scenario.drive;
    let mut film = Film::new(format!(
        "A drive of {PAGES} pages with the same spare area, fill, policy ({}) and workload ({}), \
         trimmed after as many drive writes.",
        values::policy_word(spec.collection),
        plan.workload
    ));
    film.has_stale = scenario.trims != Trims::Online || scenario.reach != Reach::Heard;
    let op = spec.over_provisioning;
    let built = drive(
        op,
        spec.collection,
        spec.separate_moved,
        PowerOn::Empty,
        scenario.seed,
    );
    let Some(mut ftl) = built else {
        return film;
    };
    let mut filesystem = Filesystem::new(FsSettings {
        discarding: match scenario.trims {
            Trims::Online => Discarding::Online,
            Trims::Never | Trims::Periodic(_) => Discarding::Never,
        },
        reach: scenario.reach,
        seed: scenario.seed,
        ..FsSettings::new(PAGES)
    });
    let mut mix = mix(plan);
    let mut host = Host {
        ftl: &mut ftl,
        filesystem: &mut filesystem,
        mix: &mut mix,
    };
    // Drive writes from one trim to the next.
    let period = match scenario.trims {
        Trims::Periodic(schedule) => Some(drive_writes(plan) * f64::from(schedule.every_days)),
        Trims::Never | Trims::Online => None,
    };
    let length = period.map_or(LENGTH, |period| period * CYCLES);
    let step = steps(length.clamp(LENGTH_RANGE.0, LENGTH_RANGE.1));
    let loaded = host.load() && host.write(PAGES * WARM_UP);
    let mut due = 0.0;
    for frame in 0..FRAMES {
        let now = at(frame, step);
        let mut news = "";
        if frame > 0 {
            host.ftl.reset_counters();
            if !loaded || !host.write(step) {
                break;
            }
        }
        if let Some(period) = period
            && now >= due
        {
            host.filesystem.trim(0..PAGES, 1, host.ftl);
            news = if scenario.reach == Reach::Heard {
                "; just trimmed"
            } else {
                "; just trimmed, and the drive did not hear of it"
            };
            due += period;
        }
        let filesystem = &*host.filesystem;
        film.shoot(host.ftl, now, news, |page| !filesystem.is_live(page));
    }
    film
}

/// Of one drive, on a day.
#[allow(clippy::cast_precision_loss)] // a ratio
fn drive_writes(plan: &Plan) -> f64 {
    let drive = &plan.scenario.drive;
    let capacity = drive.capacity_bytes as f64 * f64::from(drive.drives);
    plan.scenario.bytes_per_day as f64 / capacity.max(1.0)
}

/// Pages between two pictures.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some drive writes
fn steps(length: f64) -> u32 {
    (length * f64::from(PAGES) / f64::from(FRAMES)).max(1.0) as u32
}

fn at(frame: u32, step: u32) -> f64 {
    f64::from(frame) * f64::from(step) / f64::from(PAGES)
}

impl Film {
    fn new(caption: String) -> Self {
        Self {
            pages_per_block: PAGES_PER_BLOCK,
            blocks: 0,
            caption,
            has_stale: false,
            frames: Vec::new(),
        }
    }

    fn shoot(
        &mut self,
        ftl: &Ftl<Timeless>,
        drive_writes: f64,
        news: &str,
        is_stale: impl Fn(u32) -> bool,
    ) {
        self.blocks = ftl.blocks().len();
        let pages = (0u32..)
            .take(self.blocks)
            .flat_map(|block| ftl.page_states(block));
        let states: Vec<u8> = pages
            .map(|state| match state {
                PageState::Free => Page::Free as u8,
                PageState::Invalid => Page::Invalid as u8,
                PageState::Valid(page) if is_stale(page) => Page::Stale as u8,
                PageState::Valid(_) => Page::Live as u8,
            })
            .collect();
        let digit = |pair: &[u8]| {
            let value = pair[0] << 2 | pair.get(1).copied().unwrap_or(Page::Free as u8);
            char::from_digit(value.into(), 16).unwrap_or('f')
        };
        let amplification = match ftl.counters().write_amplification() {
            Some(found) if !self.frames.is_empty() => {
                format!(", write amplification {found:.1} since the picture before")
            }
            _ => String::new(),
        };
        self.frames.push(Frame {
            caption: format!("after {drive_writes:.2} drive writes{amplification}{news}"),
            pages: states.chunks(2).map(digit).collect(),
        });
    }
}

/// A filesystem with its load on a drive.
struct Host<'a> {
    ftl: &'a mut Ftl<Timeless>,
    filesystem: &'a mut Filesystem,
    mix: &'a mut Mix,
}

impl Host<'_> {
    /// Writes the data that the workload starts with; `false` where it does not fit.
    fn load(&mut self) -> bool {
        // A workload that never loads must not hang a picture.
        for _ in 0..1_000_000 {
            if self.mix.is_loaded() {
                return true;
            }
            let operation = self.mix.next();
            if self.filesystem.apply(operation, self.ftl).is_err() {
                return false;
            }
        }
        false
    }

    /// Writes so many pages; `false` where a file does not fit.
    fn write(&mut self, pages: u32) -> bool {
        let mut written = 0;
        while written < pages {
            let operation = self.mix.next();
            if self.filesystem.apply(operation, self.ftl).is_err() {
                return false;
            }
            written += operation.written_pages();
        }
        true
    }
}

/// The plan's workloads, small.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // shares of a u32
fn mix(plan: &Plan) -> Mix {
    let scenario = &plan.scenario;
    let all: f64 = scenario.parts.iter().map(|part| part.space).sum();
    // Merges and compactions need room beside what lies there.
    let live = f64::from(PAGES) * scenario.fill.min(0.9);
    let stride = scenario.parts.len() as u32;
    let parts = (0u32..)
        .zip(&scenario.parts)
        .map(|(index, part)| {
            let space = ((live * part.space / all) as u32).max(8);
            let namespace = Namespace {
                offset: index,
                stride,
                stream: 0,
                chunk_pages: 8,
            };
            let seed = scenario.seed.wrapping_add(index.into());
            (part.weight, small(part.kind, space, namespace, seed))
        })
        .collect();
    Mix::new(parts)
}

fn small(
    kind: Kind,
    space_pages: u32,
    namespace: Namespace,
    seed: u64,
) -> Box<dyn Workload + Send> {
    let files = |oldest_first| {
        let settings = Churn {
            space_pages,
            file_pages_min: 1,
            file_pages_max: (space_pages / 8).clamp(1, 64),
            oldest_first,
        };
        Box::new(Churning::new(settings, namespace, seed))
    };
    match kind {
        Kind::Database { pattern, .. } => Box::new(Updating::new(
            Database {
                pages: space_pages,
                pattern,
                write_pages: 1,
            },
            namespace,
            seed,
        )),
        Kind::Log { recycled, .. } => {
            let settings = Log {
                space_pages,
                file_pages: (space_pages / 16).max(1),
                recycled,
            };
            Box::new(Logging::new(settings, namespace))
        }
        Kind::Lsm { .. } if space_pages >= SPACE_MIN => Box::new(LsmTree::new(
            Lsm {
                space_pages,
                table_pages: 8,
                fan_out: 4,
                level0_tables: 2,
            },
            namespace,
        )),
        Kind::Segments { .. } if space_pages >= SPACE_MIN => Box::new(Indexing::new(
            Segments {
                space_pages,
                flush_pages: 2,
                segment_pages_max: 64,
                index_pages: space_pages / 8,
            },
            namespace,
        )),
        Kind::Churn { oldest_first, .. } => files(oldest_first),
        Kind::Lsm { .. } | Kind::Segments { .. } => files(true),
    }
}
