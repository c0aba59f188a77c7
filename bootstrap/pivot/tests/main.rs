//! Tests of pivot.

mod limits;
