//! Metal3's provider for Cluster API and HostClaims, with a server.

mod choice;
mod claim_plan;
mod claim_policy;
mod claim_requests;
mod claiming;
mod claims;
mod cluster_plan;
mod consumer;
mod data;
mod examples;
mod fixture;
mod host;
mod ipam;
mod kills;
mod labels;
mod machine_node;
mod machine_plan;
mod remediation_plan;
mod testing;
