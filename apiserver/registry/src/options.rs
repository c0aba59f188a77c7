//! Options of a registry.

use std::sync::Arc;

use machinery::status::Status;
use serde_json::Value;

use crate::context::{Subresource, User};
use crate::definitions::Served;
use crate::webhook::WebhookCaller;

/// The operation of a request on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Creation of an object.
    Create,
    /// Any change of an object.
    Update,
    /// Deletion of an object.
    Delete,
}

/// The parameters of admission for one write.
pub struct Review<'a> {
    /// The resource in the version of the request.
    pub served: &'a Served,
    /// The subresource that is written.
    pub subresource: Subresource,
    /// The operation.
    pub operation: Operation,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The user that makes the request.
    pub user: &'a User,
    /// Whether the request is a dry run, so that nothing is stored.
    pub dry_run: bool,
    /// The object before the write; `None` for a creation.
    pub old: Option<&'a Value>,
}

/// Rules that can change or refuse a write. They correspond to admission webhooks, but run in the server and do no I/O.
pub trait Admission: Send + Sync {
    /// Sets defaults. Called before validation.
    ///
    /// # Errors
    /// The refusal that the client gets.
    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status>;

    /// Validates a write. Called after the validation of the schema. For a deletion, `object` is the old object.
    ///
    /// # Errors
    /// The refusal that the client gets.
    fn validate(&self, review: &Review<'_>, object: &Value, warnings: &mut Vec<String>)
    -> Result<(), Status>;
}

/// The parts of the housekeeping to run. All of them are driven by watches.
#[derive(Debug, Clone)]
pub struct Housekeeping {
    /// Delete dependents of deleted owners, and complete foreground and orphaning deletions.
    pub garbage_collection: bool,
    /// Create `default` and the `kube-*` namespaces.
    pub namespaces: bool,
    /// Empty and remove namespaces that are being deleted.
    pub namespace_deletion: bool,
    /// Create the ServiceAccount `default` in each namespace.
    pub service_accounts: bool,
    /// The PEM text for the ConfigMap `kube-root-ca.crt` in each namespace; `None` if there is no such ConfigMap.
    pub root_certificate: Option<String>,
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
            namespace_deletion: true,
            service_accounts: true,
            root_certificate: None,
            event_expiry: true,
            roles: true,
            role_aggregation: true,
        }
    }
}

/// Parameters of [`crate::Registry::open`], apart from the store.
#[derive(Clone, Default)]
pub struct Options {
    /// Additional built-in kinds, as CustomResourceDefinition manifests (see `kinds/`).
    pub kinds: Vec<Value>,
    /// The parts of the housekeeping to run.
    pub housekeeping: Housekeeping,
    /// Rules for writes, applied in order.
    pub admission: Vec<Arc<dyn Admission>>,
    /// Calls webhooks. With `None`, requests that need a webhook fail.
    pub webhooks: Option<Arc<dyn WebhookCaller>>,
}
