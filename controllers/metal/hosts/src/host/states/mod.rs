//! The work of each state (`contract/metal3`, §1.2).

mod deprovision;
pub(super) mod firmware;
mod prepare;
mod provision;
mod rest;
