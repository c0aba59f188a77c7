//! Pods and PodTemplates: all that is known of a pod's spec, wherever it stands.

mod admit;
mod annotations;
pub(crate) mod columns;
mod containers;
pub(crate) mod defaults;
mod ephemeral;
pub(crate) mod kinds;
mod names;
mod parts;
mod requests;
pub(crate) mod resources;
mod rules;
pub(crate) mod scheduling;
mod security;
pub(crate) mod spec;
mod status;
mod update;
mod volumes;
pub(crate) mod warnings;
