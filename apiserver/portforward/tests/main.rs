//! Tests of the pure parts of port-forwards.

mod dictionary;
mod streams;
