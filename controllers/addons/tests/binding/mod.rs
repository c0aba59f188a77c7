//! Tests of `addons::binding`.

mod plan;
