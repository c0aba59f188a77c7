//! Pods and PodTemplates, and the pod specs in the templates of other kinds.

pub mod account;
mod admit;
mod annotations;
pub(crate) mod columns;
mod containers;
pub(crate) mod defaults;
mod ephemeral;
pub(crate) mod gated;
pub(crate) mod kinds;
mod names;
mod parts;
pub(crate) mod requests;
pub(crate) mod resources;
mod rules;
pub(crate) mod scheduling;
mod security;
pub(crate) mod spec;
pub mod standards;
mod status;
mod update;
mod volumes;
pub(crate) mod warnings;
