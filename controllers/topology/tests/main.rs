//! Tests of the pure half of topologies: versions, desired objects, patches, rotation of templates.

mod class;
mod clean_up;
mod configuration;
mod desired;
mod patches;
mod recorded;
mod rotation;
mod status;
mod support;
mod versions;
