//! Tests of `pivot::server`.

mod lists;
