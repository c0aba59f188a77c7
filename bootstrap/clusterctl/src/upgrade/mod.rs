//! `upgrade`: which newer versions of providers there are (`plan`), and their installation (`apply`). `releases` has the rules, which are
//! pure; `undo` brings the old version back when an upgrade fails.

mod apply;
mod plan;
pub mod releases;
mod undo;

pub use apply::{Options, apply, check_skew, replace_one};
pub use plan::{Plan, plan};

use crate::inventory::{CONTRACT, Installed};

/// The contracts of management clusters that can be upgraded.
const UPGRADABLE: [&str; 2] = [CONTRACT, "v1beta1"];

/// A provider with the version to which it can be, or is to be, upgraded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The provider with its present version.
    pub provider: Installed,
    /// The version to which it is upgraded; `None` if it stays as it is.
    pub next: Option<String>,
}
