//! Tests of `pivot::preflight`.

mod providers;
