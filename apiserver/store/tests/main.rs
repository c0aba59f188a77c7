//! Tests of the store's public functions, against a model, on disk and in memory.

mod behaviour;
mod bounds;
mod disk;
mod flips;
mod full;
mod groups;
mod kinds;
mod model;
