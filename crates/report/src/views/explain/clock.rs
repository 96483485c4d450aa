//! Formats the times of a series.

use crate::explain::ExplainReport;
use explain::verdict::SeriesVerdict;
use facts::series::Dating;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const HOUR_S: f64 = 3_600.0;

/// Formats times in the manner that suits a series.
#[derive(Debug, Clone)]
pub(super) struct Clock<'a> {
    zone: &'a TimeZone,
    dating: Dating,
    first: Timestamp,
    /// Whether to show seconds, because minutes alone would repeat the same time.
    seconds: bool,
}

impl<'a> Clock<'a> {
    pub fn of(report: &ExplainReport<'a>, series: &SeriesVerdict) -> Self {
        let first = series.from.unwrap_or(Timestamp::UNIX_EPOCH);
        let last = series.until.unwrap_or(first);
        Self {
            zone: report.zone,
            dating: series.dating,
            first,
            seconds: last.duration_since(first).as_secs_f64() < HOUR_S,
        }
    }

    /// Formats a moment with suitable precision; relative to the first sample if only time
    /// differences are known.
    pub fn moment(&self, at: Timestamp) -> String {
        if self.dating != Dating::Absolute {
            return format!("+{}", units::seconds(self.since_first_s(at)));
        }
        if self.seconds {
            units::date::second(at, self.zone)
        } else {
            units::date::minute(at, self.zone)
        }
    }

    /// Returns the seconds since the first sample.
    pub fn since_first_s(&self, at: Timestamp) -> f64 {
        at.duration_since(self.first).as_secs_f64()
    }
}

/// Describes the limits of a series' times if they are not absolute.
pub(super) fn dating(dating: Dating) -> Option<String> {
    match dating {
        Dating::Absolute => None,
        Dating::Day(day) => Some(format!(
            "the first sample is of {day}, at an unknown time of that day"
        )),
        Dating::Undated => Some("the samples have no dates, only distances in time".to_owned()),
    }
}
