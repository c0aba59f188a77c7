//! Tests of the registry through its public interface: verbs, conversion, rules, housekeeping, and random requests
//! against a model.

mod amplified;
mod applied;
mod certificate_requests;
mod common;
mod conversion;
mod depth;
mod gone_clients;
mod housekeeping;
mod limit_ranges;
mod model;
mod mutating_policies;
mod plugins;
mod pod_security;
mod quotas;
mod recreated;
mod rings;
mod rules;
mod schemas;
mod selection;
mod services;
mod size;
mod standard_objects;
mod verbs;
mod webhook_patches;
mod webhooks;
