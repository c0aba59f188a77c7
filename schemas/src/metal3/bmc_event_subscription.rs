// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: bmc event subscription.

use crate::metal3::SecretReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Sends events of a host's baseboard management controller to somebody.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BMCEventSubscription {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Whose events go where. It can't be changed.
    pub spec: BmcEventSubscriptionSpec,
    /// What became of it.
    pub status: Option<BmcEventSubscriptionStatus>,
}

crate::kind!(
    BMCEventSubscription,
    "metal3.io",
    "v1alpha1",
    "bmceventsubscriptions",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// Whose events go where. It can't be changed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BmcEventSubscriptionSpec {
    /// A text that comes along with each event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The URL to which the events are sent. It must have a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Name of the BareMetalHost in the same namespace.
    #[serde(rename = "hostName", skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// A Secret with HTTP headers that are sent along, such as credentials.
    #[serde(rename = "httpHeadersRef", skip_serializing_if = "Option::is_none")]
    pub http_headers_ref: Option<SecretReference>,
}

/// What became of it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BmcEventSubscriptionStatus {
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How the controller names it.
    #[serde(rename = "subscriptionID", skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
}
