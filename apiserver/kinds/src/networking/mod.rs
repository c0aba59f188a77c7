//! Services and what leads to them: endpoints, ingresses, policies, addresses.

mod addresses;
mod columns;
mod endpoints;
mod ingress;
pub(crate) mod kinds;
mod network_policy;
mod service;
mod warnings;
