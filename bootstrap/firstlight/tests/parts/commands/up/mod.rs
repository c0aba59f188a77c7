//! Tests of `firstlight::parts::commands::up`.

mod handover;
