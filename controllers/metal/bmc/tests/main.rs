//! Tests of bmc.

mod ipmi;
