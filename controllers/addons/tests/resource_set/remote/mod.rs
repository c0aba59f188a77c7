//! Tests of `addons::resource_set::remote`.

mod difference;
mod kinds;
