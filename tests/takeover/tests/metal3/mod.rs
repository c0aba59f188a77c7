//! Tests of `takeover::metal3`.

mod logs;
