//! Formats and parses values: sizes, durations, rates, shares, counts, dates.
//!
//! Every number shown to a user is formatted here, and every number a user types is parsed here, so that a
//! value is spelled the same way in all commands, pages and documents:
//!
//! | value | written | read |
//! |---|---|---|
//! | size | `1 TiB`, `1.8 TiB`, `512 B` | `16MiB`, `500MB`, `1.5G`, `4096B` |
//! | rate | `500 MiB/s` | `500MiB/s` |
//! | duration | `56 ms`, `4.2 s`, `1 h 40 min`, `5 days 2 h` | `5ms`, `1h30m`, `90d` |
//! | share | `7 %`, `62.5 %` | `7%`, `0.07` |
//! | count | `25,000` | `25000`, `25,000`, `25k`, `1M`, `16Mi` |
//! | date | `2026-10-25 06:47` | see [`zone`] for the zone |
//!
//! Parsers reject bare numbers where a unit is needed, because `--size 1.9` is ambiguous. All functions are
//! pure: they do not depend on the locale, the clock or the environment.

pub mod count;
pub mod date;
mod digits;
pub mod duration;
mod error;
pub mod escape;
pub mod glob;
pub mod list;
pub mod number;
pub mod share;
pub mod size;
pub mod zone;

pub use count::{count, grouped};
pub use duration::{duration, seconds};
pub use error::ValueError;
pub use escape::{cut, display_width, escape};
pub use list::list;
pub use number::number;
pub use share::percent;
pub use size::{bytes, bytes_per_s};
