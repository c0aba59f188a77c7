//! Tests of `firstlight::commands`.

mod goal;
mod man_pages;
mod metal;
mod serve;
mod up;
