//! Handlers of non-resource paths: version, health, metrics, discovery, OpenAPI.

pub(crate) mod discovery;
pub(crate) mod given;
pub(crate) mod health;
pub(crate) mod nonresource;
pub(crate) mod openapi;
mod routed;
