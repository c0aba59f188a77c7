//! Handlers of non-resource paths: version, health, metrics, discovery, OpenAPI.

pub mod discovery;
pub(crate) mod given;
pub(crate) mod health;
pub(crate) mod nonresource;
pub mod openapi;
mod routed;
