//! Metal3's provider for Cluster API and HostClaims, with a server.

mod claims;
mod data;
mod examples;
mod fixture;
mod ipam;
mod kills;
