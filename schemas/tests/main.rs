//! Tests of the types with recorded objects.

mod recorded;
mod round_trip;
