//! Tests of protocol.

mod instruction;
