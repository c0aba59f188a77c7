//! `/scale`: an `autoscaling/v1` Scale over three paths of an object.

mod decode;
pub(crate) mod validate;
pub(crate) mod view;
pub(crate) mod write;
