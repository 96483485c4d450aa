//! Names under which commands still find crate `units`.

pub use units::escape::{cut, escape, escape_json};
pub use units::{bytes as human_bytes, count, grouped, list as listed, number as digits, percent};

/// [`units::seconds`] of whole seconds.
#[allow(clippy::cast_precision_loss)] // years are shown to three digits
pub fn human_duration(seconds: u64) -> String {
    units::seconds(seconds as f64)
}
