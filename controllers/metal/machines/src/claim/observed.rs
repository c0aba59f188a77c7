//! The state on which the plan of a HostClaim depends.

use std::sync::Arc;

use engine::NamespacedName;
use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::{BareMetalHost, HostClaim};

use super::secrets::Source;

/// The state on which the plan of a HostClaim depends.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The name of the claim.
    pub name: NamespacedName,
    /// The claim.
    pub object: Arc<HostClaim>,
    /// Its host, which names the claim as its consumer.
    pub host: Option<Arc<BareMetalHost>>,
    /// The namespaces whose policies allow the claim, if it has no host. `hostSelector.inNamespace` leaves at most one.
    pub namespaces: Vec<String>,
    /// All hosts of these namespaces, if the claim has no host.
    pub hosts: Vec<Arc<BareMetalHost>>,
    /// The Secrets that the claim refers to.
    pub sources: Vec<Source>,
    /// The Secrets that were copied for the claim.
    pub copies: Vec<Arc<Secret>>,
}
