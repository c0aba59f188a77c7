//! Admission by the embedder, then by the webhooks and policies that are configured in the API. The compiled configurations
//! are cached, and compiled again after one of them has changed. Without any configuration, a write costs one comparison.

mod attributes;
mod basis;
mod case;
pub(crate) mod chain;
mod conditions;
mod configured;
mod limit_ranger;
mod matcher;
mod matching;
mod mutating;
mod mutation;
mod mutator;
mod param_rights;
mod params;
mod patched;
pub(crate) mod plugins;
mod pod_security;
mod policies;
mod policy;
mod response;
pub(crate) mod review;
mod webhook;
mod webhooks;
