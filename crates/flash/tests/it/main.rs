//! Compares the simulation with papers, an article and synthetic measurements.

mod blocks;
mod calibration;
mod parsing;
mod reference;
mod replay;
mod trace;
mod transient;
