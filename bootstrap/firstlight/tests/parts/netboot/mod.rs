//! Tests of `firstlight::parts::netboot`.

mod options;
mod subnet;
