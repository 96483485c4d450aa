//! When cron starts a line of a crontab.

use crate::conditions::{Conditions, CronFlavor};
use crate::cron::CronSpec;
use crate::zone::{Clock, parse_zone};
use facts::InputError;

/// Returns the run times of a crontab line after `after_us`.
pub(crate) fn cron_times(
    spec: &str,
    time_zone: Option<&str>,
    source: &str,
    after_us: i64,
    conditions: &Conditions,
) -> Result<Box<dyn Iterator<Item = i64>>, InputError> {
    let spec = CronSpec::parse(source, spec)?;
    let (zone, flavor) = match time_zone {
        Some(name) => {
            let named = parse_zone(name).map_err(|error| InputError {
                source_name: source.to_owned(),
                ..error
            })?;
            // Only cronie supports CRON_TZ, and it does not track clock changes in that zone.
            let flavor = match conditions.cron {
                CronFlavor::Systemd => CronFlavor::Systemd,
                flavor if named == conditions.zone => flavor,
                _ => CronFlavor::WallClock,
            };
            (named, flavor)
        }
        None => (conditions.zone.clone(), conditions.cron),
    };
    Ok(spec.moments_us(after_us, Clock::new(zone), flavor))
}
