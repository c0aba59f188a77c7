//! The store from outside: its promises against a model, on disk and in memory.

mod behaviour;
mod disk;
mod groups;
mod model;
