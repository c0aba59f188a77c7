//! Options of a registry.

use std::sync::Arc;

use kinds::definition::Converter;

use crate::admission::review::Admission;
use crate::housekeeping::certificate_requests::SignRequests;
use crate::housekeeping::token_secrets::TokenSecrets;
use crate::versions::kinds::Kinds;
use crate::webhook::caller::WebhookCaller;
use crate::write::allocation::ServiceRange;

/// The parts of the housekeeping to run. All of them are driven by watches.
#[derive(Clone)]
pub struct Housekeeping {
    /// Delete dependents of deleted owners, and complete foreground and orphaning deletions.
    pub garbage_collection: bool,
    /// Create `default` and the `kube-*` namespaces.
    pub namespaces: bool,
    /// Create the PriorityClasses, FlowSchemas and PriorityLevelConfigurations that every cluster has, and the APIServices of what is
    /// served.
    pub standard_objects: bool,
    /// Empty and remove namespaces that are being deleted.
    pub namespace_deletion: bool,
    /// Create the ServiceAccount `default` in each namespace.
    pub service_accounts: bool,
    /// The PEM text for the ConfigMap `kube-root-ca.crt` in each namespace; `None` if there is no such ConfigMap.
    pub root_certificate: Option<String>,
    /// Fill the Secrets that are tokens of ServiceAccounts, and delete them with their account; `None` if nobody does that.
    pub token_secrets: Option<TokenSecrets>,
    /// Signs approved CertificateSigningRequests; `None` if nobody does that.
    pub request_signer: Option<Arc<dyn SignRequests>>,
    /// Count what is used of ResourceQuotas. Without it, only those are enforced that somebody else counts.
    pub quotas: bool,
    /// Delete Events after an hour.
    pub event_expiry: bool,
    /// Create the default roles and bindings.
    pub roles: bool,
    /// Maintain the rules of aggregated ClusterRoles.
    pub role_aggregation: bool,
}

impl Default for Housekeeping {
    fn default() -> Self {
        Self {
            garbage_collection: true,
            namespaces: true,
            standard_objects: false,
            namespace_deletion: true,
            service_accounts: true,
            root_certificate: None,
            token_secrets: None,
            request_signer: None,
            quotas: false,
            event_expiry: true,
            roles: true,
            role_aggregation: true,
        }
    }
}

/// Parameters of [`crate::Registry::open`], apart from the store.
#[derive(Clone, Default)]
pub struct Options {
    /// The built-in kinds; `None` for those that every server has.
    pub kinds: Option<Kinds>,
    /// The parts of the housekeeping to run.
    pub housekeeping: Housekeeping,
    /// Converts custom objects between versions. With `None`, only webhooks do.
    pub converter: Option<Arc<dyn Converter>>,
    /// Rules for writes, applied in order.
    pub admission: Vec<Arc<dyn Admission>>,
    /// Whether new pods are completed from their ServiceAccounts, like by kube-apiserver's plugin `ServiceAccount`.
    pub service_accounts: bool,
    /// The cluster IPs of Services.
    pub service_range: ServiceRange,
    /// Calls webhooks. With `None`, requests that need a webhook fail.
    pub webhooks: Option<Arc<dyn WebhookCaller>>,
}
