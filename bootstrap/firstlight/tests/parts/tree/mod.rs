//! Tests of `firstlight::tree`.

mod changes;
mod conditions;
mod fold;
mod hosts;
mod model;
mod pools;
mod render;
mod rest;
mod words;
