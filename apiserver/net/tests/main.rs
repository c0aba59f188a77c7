//! Tests of how other machines are reached.

mod connections;
mod impatient;
mod networks;
mod log;
mod rules;
mod servers;
mod texts;
