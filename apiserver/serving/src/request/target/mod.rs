//! The target of a request, derived once from its path and the definitions.

pub(crate) mod missing;
pub(crate) mod path;
pub(crate) mod resource;
pub(crate) mod route;
