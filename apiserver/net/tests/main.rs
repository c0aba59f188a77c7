//! Tests of how other machines are reached.

mod connections;
mod handshake;
mod impatient;
mod log;
mod networks;
mod rules;
mod servers;
mod texts;
