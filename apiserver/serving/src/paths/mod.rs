//! Handlers of paths that are no resources: version, health, metrics, discovery, OpenAPI.

pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod nonresource;
pub(crate) mod openapi;
