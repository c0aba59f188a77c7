//! Tasks that a real cluster's controller manager performs for the API server's own kinds. Each task is driven by a
//! watch and ends with the registry.

pub(crate) mod advertised;
mod aggregation;
mod api_services;
pub(crate) mod authentication;
pub(crate) mod certificate_requests;
mod cleanup;
mod default_roles;
mod edit;
mod events;
mod flow_control;
mod garbage;
mod graph;
mod misplaced;
mod namespaces;
mod part;
mod policy;
mod priority_classes;
mod quotas;
mod retries;
mod rings;
mod service_accounts;
pub(crate) mod start;
mod terminating;
pub(crate) mod token_secrets;
