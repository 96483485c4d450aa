//! A database: one large file overwritten in place, by a pattern.

use std::fmt;

use super::plan::{Namespace, Plan};
use super::zipf::{Scattered, Zipf};
use super::{Operation, Workload};
use crate::random::Random;
use units::ValueError;

/// Which pages are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    /// All pages equally likely.
    Uniform,
    /// Zipf-distributed, with the frequent pages scattered over the file.
    Zipf {
        /// 0 is uniform, 1 is classic Zipf.
        exponent: f64,
    },
    /// A hot part at the start of the file gets most writes.
    HotCold {
        /// Share of the pages that are hot.
        hot_share: f64,
        /// Share of the writes that go to hot pages.
        hot_traffic: f64,
    },
    /// One page after the other, over and over.
    Sequential,
}

/// Writes `uniform`, `zipf:0.9`, `hot-cold:20/80` (percent of the pages, of the writes) or
/// `sequential`.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded so that 0.07 * 100 gives 7 instead of 7.000000000000001.
        let percent = |share: f64| (share * 1e8).round() / 1e6;
        match *self {
            Self::Uniform => f.write_str("uniform"),
            Self::Sequential => f.write_str("sequential"),
            Self::Zipf { exponent } => write!(f, "zipf:{exponent}"),
            Self::HotCold {
                hot_share,
                hot_traffic,
            } => write!(
                f,
                "hot-cold:{}/{}",
                percent(hot_share),
                percent(hot_traffic)
            ),
        }
    }
}

impl Pattern {
    /// The accepted spellings of a pattern.
    pub const NAMES: &str =
        "uniform, zipf:S (zipf:0.9), hot-cold:PAGES/WRITES (hot-cold:20/80) or sequential";

    /// Parses a pattern; returns `None` if the name is not that of a pattern.
    ///
    /// # Errors
    /// If the numbers are out of bounds.
    pub fn parse(text: &str) -> Result<Option<Self>, ValueError> {
        let text = text.trim();
        let (word, numbers) = text.split_once(':').unwrap_or((text, ""));
        match (word, numbers) {
            ("uniform", "") => Ok(Some(Self::Uniform)),
            ("sequential", "") => Ok(Some(Self::Sequential)),
            ("zipf", numbers) => match numbers.parse() {
                Ok(exponent) if (0.0..=5.0).contains(&exponent) => {
                    Ok(Some(Self::Zipf { exponent }))
                }
                _ => Err(ValueError::new(
                    "zipf:S with an exponent of 0 to 5 (zipf:0.9)",
                    text,
                )),
            },
            ("hot-cold", numbers) => hot_cold(numbers).map(Some).ok_or_else(|| {
                ValueError::new(
                    "hot-cold:PAGES/WRITES in percent (hot-cold:20/80: a fifth of the pages gets \
                     80 % of the writes)",
                    text,
                )
            }),
            _ => Ok(None),
        }
    }
}

fn hot_cold(numbers: &str) -> Option<Pattern> {
    let (pages, writes) = numbers.split_once('/')?;
    let percent = |text: &str| {
        let value: f64 = text.trim_end_matches('%').parse().ok()?;
        (value > 0.0 && value < 100.0).then_some(value / 100.0)
    };
    Some(Pattern::HotCold {
        hot_share: percent(pages)?,
        hot_traffic: percent(writes)?,
    })
}

/// Settings of a database file and its updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Database {
    /// Size of the file in pages.
    pub pages: u32,
    /// Which pages are written.
    pub pattern: Pattern,
    /// Pages per write, aligned to multiples of this; at least 1, at most the file.
    pub write_pages: u32,
}

/// The workload of a [`Database`].
#[derive(Debug, Clone)]
pub struct DatabaseWorkload {
    settings: Database,
    plan: Plan,
    file: u32,
    /// Number of aligned slots of `write_pages` each.
    slots: u32,
    hot_slots: u32,
    scattered: Scattered,
    zipf: Option<Zipf>,
    next: u32,
    random: Random,
    loaded: bool,
}

impl DatabaseWorkload {
    /// Creates the workload.
    ///
    /// # Panics
    /// Unless `1 <= write_pages <= pages`, and shares are between 0 and 1.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a u32
    pub fn new(settings: Database, namespace: Namespace, seed: u64) -> Self {
        assert!((1..=settings.pages).contains(&settings.write_pages));
        let slots = settings.pages / settings.write_pages;
        let mut hot_slots = 0;
        let mut zipf = None;
        match settings.pattern {
            Pattern::Zipf { exponent } => zipf = Some(Zipf::new(slots, exponent)),
            Pattern::HotCold {
                hot_share,
                hot_traffic,
            } => {
                assert!((0.0..=1.0).contains(&hot_share) && (0.0..=1.0).contains(&hot_traffic));
                hot_slots = (f64::from(slots) * hot_share).round() as u32;
                hot_slots = hot_slots.clamp(1, (slots - 1).max(1));
            }
            Pattern::Uniform | Pattern::Sequential => {}
        }
        let mut plan = Plan::new(namespace);
        let file = plan.create(settings.pages);
        Self {
            settings,
            plan,
            file,
            slots,
            hot_slots,
            scattered: Scattered::new(slots),
            zipf,
            next: 0,
            random: Random::new(seed),
            loaded: false,
        }
    }

    fn slot(&mut self) -> u32 {
        match self.settings.pattern {
            Pattern::Uniform => self.random.below_u32(self.slots),
            Pattern::Zipf { .. } => {
                let rank = self
                    .zipf
                    .as_ref()
                    .map_or(1, |zipf| zipf.draw(&mut self.random));
                self.scattered.page(rank - 1)
            }
            Pattern::HotCold { hot_traffic, .. } => {
                if self.slots == self.hot_slots || self.random.unit() < hot_traffic {
                    self.random.below_u32(self.hot_slots)
                } else {
                    self.hot_slots + self.random.below_u32(self.slots - self.hot_slots)
                }
            }
            Pattern::Sequential => {
                let slot = self.next;
                self.next = (slot + 1) % self.slots;
                slot
            }
        }
    }
}

impl Workload for DatabaseWorkload {
    fn next(&mut self) -> Operation {
        if self.plan.is_empty() {
            self.loaded = true;
            let pages = self.settings.write_pages;
            let offset = self.slot() * pages;
            self.plan.overwrite(self.file, offset, pages);
        }
        self.plan.pop().expect("planned above")
    }

    fn is_loaded(&self) -> bool {
        // The last operation of the first plan writes the file's last page.
        self.loaded || self.plan.is_empty()
    }

    fn peak_pages(&self) -> u64 {
        self.settings.pages.into()
    }
}
