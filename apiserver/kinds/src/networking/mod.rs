//! Services, Endpoints, EndpointSlices, Ingresses, NetworkPolicies and addresses.

mod addresses;
mod allocation;
mod columns;
mod endpoints;
mod ingress;
pub(crate) mod kinds;
mod network_policy;
mod service;
mod warnings;
