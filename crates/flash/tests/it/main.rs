//! What the simulation says beside what papers, an article and made-up measurements say.

mod blocks;
mod calibration;
mod reference;
mod replay;
mod trace;
mod transient;
mod words;
