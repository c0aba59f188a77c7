//! Tests of `firstlight::parts::options`.

mod address;
