//! The scenarios, each with what a machine goes through.

mod by_hand;
mod redfish;

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
pub const SCENARIOS: &[Named] = &[
    Named { name: "redfish-uefi-http", run: || Box::pin(redfish::uefi_http()) },
    Named { name: "by-hand-uefi-http", run: || Box::pin(by_hand::uefi_http()) },
];
