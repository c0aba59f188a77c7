//! Tests of system containers.
