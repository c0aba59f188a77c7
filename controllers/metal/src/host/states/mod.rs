//! The work of each state (`contract/metal3`, §1.2).

mod deprovision;
mod prepare;
mod provision;
mod rest;
