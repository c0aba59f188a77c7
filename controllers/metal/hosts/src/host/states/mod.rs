//! The work of each state (`contract/metal3`, §1.2).

pub(super) mod deprovision;
pub(super) mod firmware;
pub(super) mod prepare;
pub(super) mod provision;
pub(super) mod rest;
