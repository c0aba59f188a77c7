//! The scenarios, each with what a machine goes through.

mod by_hand;

use anyhow::Result;
use futures::future::BoxFuture;

/// One scenario.
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub run: fn() -> BoxFuture<'static, Result<()>>,
}

/// All of them.
pub const SCENARIOS: &[Named] =
    &[Named { name: "uefi-http-by-hand", run: || Box::pin(by_hand::uefi_http()) }];
