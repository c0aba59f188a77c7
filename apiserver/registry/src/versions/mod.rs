//! The resources that are served at one moment, and conversion between their versions.

pub(crate) mod by_webhook;
pub(crate) mod conversions;
pub(crate) mod convert;
pub(crate) mod converted;
pub(crate) mod current;
pub(crate) mod definitions;
pub(crate) mod fields;
pub(crate) mod kinds;
pub(crate) mod reader;
pub(crate) mod view;
