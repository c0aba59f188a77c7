//! Tests of the plan of a host with simulated machines.

mod bootstrap;
mod clients;
mod drive;
mod firmware;
mod firmware_components;
mod firmware_settings;
mod host_annotations;
mod host_conditions;
mod host_memory;
mod host_observe;
mod identity;
mod instruction;
mod life;
mod machines;
mod media;
mod metal3_handover;
mod network_data;
mod preprovisioning;
mod protection;
mod refusals;
mod state;
mod summary;
mod support;
