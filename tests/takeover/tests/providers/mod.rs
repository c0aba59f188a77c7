//! Tests of `takeover::providers`.

mod cluster;
mod figures;
mod outcome;
