//! Tests of how other machines are reached.

mod accept;
mod connections;
mod handshake;
mod impatient;
mod log;
mod networks;
mod rules;
mod servers;
mod texts;
