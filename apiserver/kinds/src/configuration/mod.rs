//! ConfigMaps and Secrets.

pub(crate) mod config_map;
pub(crate) mod kinds;
mod secret;
mod warnings;
