//! Tests of `server::options`.

mod address;
