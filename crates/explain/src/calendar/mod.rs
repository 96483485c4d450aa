//! Local time: calendars are local, so everything is folded in local time.

pub(crate) mod offsets;
pub(crate) mod periods;
pub(crate) mod weekdays;
