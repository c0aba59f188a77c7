//! Tests of `firstlight::parts::tree`.

mod changes;
mod conditions;
mod fold;
mod hosts;
mod model;
mod pools;
mod render;
mod rest;
mod words;
