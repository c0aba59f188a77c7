//! Tests of `firstlight::parts::commands`.

mod goal;
mod man_pages;
mod metal;
mod serve;
mod up;
