//! The store from outside: its promises against a model, on disk and in memory.

mod behaviour;
mod bounds;
mod disk;
mod flips;
mod full;
mod groups;
mod model;
