//! Tests of `firstlight::commands::up`.

mod handover;
