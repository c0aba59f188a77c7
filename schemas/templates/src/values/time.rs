//! Times, as Go's `time.Time` prints them. [`layout`] reads and writes them in other forms.

#[path = "layout.rs"]
pub(crate) mod layout;

use std::fmt;

use chrono::{DateTime, NaiveDateTime, TimeDelta};

/// A time with the offset and the name of its zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Time {
    /// The time in UTC.
    pub(crate) utc: NaiveDateTime,
    /// Seconds by which the zone is ahead of UTC.
    pub(crate) offset: i32,
    /// The zone's name, if it has one.
    pub(crate) zone: String,
}

/// The months, the first of which is January.
pub(crate) const MONTHS: &[&str] = &[
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The days of the week, the first of which is Sunday.
pub(crate) const WEEKDAYS: &[&str] =
    &["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A name of the list, or the number in the form of Go.
pub(super) fn name(names: &[&str], position: i64) -> String {
    let known = usize::try_from(position).ok().and_then(|position| names.get(position));
    known.map_or_else(|| format!("%!Name({position})"), |name| (*name).to_owned())
}

impl Time {
    /// The time of Go's zero value: the beginning of the year 1.
    pub(crate) fn zero() -> Time {
        let utc = DateTime::from_timestamp(layout::YEAR_ONE, 0).map(|time| time.naive_utc());
        Time { utc: utc.unwrap_or_default(), offset: 0, zone: "UTC".to_owned() }
    }

    /// The time on the clocks of the zone.
    pub(crate) fn local(&self) -> NaiveDateTime {
        self.utc.checked_add_signed(TimeDelta::seconds(i64::from(self.offset))).unwrap_or(self.utc)
    }

    /// The time a number of nanoseconds later.
    pub(crate) fn later(&self, nanoseconds: i64) -> Time {
        let utc = self.utc.checked_add_signed(TimeDelta::nanoseconds(nanoseconds)).unwrap_or(self.utc);
        Time { utc, ..self.clone() }
    }

    /// Seconds since 1970.
    pub(crate) fn unix(&self) -> i64 {
        self.utc.and_utc().timestamp()
    }

    /// The form in JSON.
    pub(crate) fn rfc3339(&self) -> String {
        layout::format(self, "2006-01-02T15:04:05.999999999Z07:00")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&layout::format(self, "2006-01-02 15:04:05.999999999 -0700 MST"))
    }
}
