//! What installed systems report about their bootstrap (`docs/bootstrap-reports.md`): the text on the configuration drive that makes
//! cloud-init report and tells containerd the registry, and the service that records reports in an annotation of the BareMetalHost.
//!
//! The rules are pure: `message` decides what of a stranger's text is kept, `report` which reports are recorded.

pub mod message;
pub mod node_registry;
pub mod report;
mod service;
pub mod vendor_data;

pub use node_registry::NodeRegistry;
pub(crate) use report::Report;
pub use service::{Answer, BootstrapReports};
