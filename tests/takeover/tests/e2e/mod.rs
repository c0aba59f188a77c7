//! Tests of `takeover::e2e`.

mod list;
mod templates;
