//! Definitions of resources, and the CustomResourceDefinitions that they are read from.

mod client_config;
mod conversion;
mod converter;
mod from_crd;
mod resource;
mod written;

pub use client_config::{WebhookClientConfig, WebhookTarget};
pub use conversion::Conversion;
pub use converter::Converter;
pub(crate) use from_crd::VERBS;
pub use from_crd::from_crd;
pub use resource::{Column, Definition, Scale, Structure, Version};
pub use written::WrittenSchema;
