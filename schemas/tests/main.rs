//! The types against recorded objects.

mod recorded;
mod round_trip;
