//! Tests of `firstlight::parts::backup`.

mod files;
