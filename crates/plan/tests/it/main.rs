//! Slots and quiet hours, as calendars and histories have them.

mod quiet;
mod slots;

use jiff::civil::Weekday;

/// All days, in the order in which slots are given out.
const WEEK: [Weekday; 7] = [
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Saturday,
    Weekday::Sunday,
    Weekday::Friday,
    Weekday::Monday,
];
