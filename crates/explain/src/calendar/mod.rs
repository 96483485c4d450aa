//! Local time: calendars are local, so series are folded in local time.

pub(crate) mod offsets;
pub(crate) mod other_zone;
pub(crate) mod periods;
pub(crate) mod weekdays;
