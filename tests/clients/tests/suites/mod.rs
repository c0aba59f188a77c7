//! Tests of `clients::suites`.

mod judge;
mod list;
mod results;
