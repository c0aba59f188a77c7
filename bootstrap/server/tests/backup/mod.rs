//! Tests of `server::backup`.

mod files;
