//! Tests of the types with recorded objects, and of the conversion between versions.

mod conversion;
mod recorded;
mod round_trip;
