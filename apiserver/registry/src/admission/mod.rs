//! Admission by the embedder, then by the webhooks and policies that are configured in the API. The compiled configurations
//! are cached, and compiled again after one of them has changed. Without any configuration, a write costs one comparison.

mod attributes;
mod case;
mod conditions;
pub(crate) mod configured;
mod matcher;
mod matching;
mod patched;
mod phases;
mod policies;
mod policy;
pub(crate) mod reader;
mod response;
pub(crate) mod review;
mod webhook;
mod webhooks;
