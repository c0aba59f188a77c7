//! The tests of the controllers as a whole.

mod kills;
mod lives;
mod resting;
mod support;
