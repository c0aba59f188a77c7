//! The tests of the controllers as a whole.

mod binding;
mod kills;
mod lives;
mod resource_set;
mod resting;
mod support;
