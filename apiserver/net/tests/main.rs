//! Tests of how other machines are reached.

mod connections;
mod rules;
mod texts;
