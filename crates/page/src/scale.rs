//! Ticks of axes: round numbers, and moments of a calendar.
