//! Tests of the pure half of topologies: versions, desired objects, patches, rotation of templates.

mod desired;
mod patches;
mod recorded;
mod rotation;
mod support;
mod versions;
