//! Plans trims: gives every node of a cluster a slot of its own in the week, finds the quiet hours in measured load,
//! tells how probable it is that passes overlap without slots, and by what a Kubernetes volume is trimmed.
//!
//! Slots are counted out, not drawn and not hashed: a random delay, and a stable one made of a host's name, let nodes
//! meet every few weeks or in every week. Pure: zones and times are arguments.

mod overlap;
mod quiet;
mod slots;
mod volumes;

pub use overlap::{overlap_of_windows, overlap_probability};
pub use quiet::{LoadCurve, QuietWindow, WeekLoad};
pub use slots::{Every, Refusal, Request, Slot, Window, assign, slot_len_s};
pub use volumes::{LeftOut, Listed, Means, Trimmer, Volume, Why, number_order, read_volumes};
