//! What the embedder of a registry chooses.

use std::sync::Arc;

use machinery::status::Status;
use serde_json::Value;

use crate::context::{Subresource, User};
use crate::definitions::Served;
use crate::webhook::WebhookCaller;

/// What a request does to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// Any change of an object.
    Update,
    /// A deletion.
    Delete,
}

/// One write, as admission sees it.
pub struct Review<'a> {
    /// The resource in the version of the request.
    pub served: &'a Served,
    /// What is written.
    pub subresource: Subresource,
    /// What happens.
    pub operation: Operation,
    /// Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
    /// Who asks.
    pub user: &'a User,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The object before; `None` when it is created.
    pub old: Option<&'a Value>,
}

/// Rules that stand between a request and the registry: what webhooks do elsewhere, as pure functions.
pub trait Admission: Send + Sync {
    /// Sets defaults. Runs before validation.
    ///
    /// # Errors
    /// The refusal that the client gets.
    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status>;

    /// Refuses. Runs after the schema was validated. `object` is the old object for a deletion.
    ///
    /// # Errors
    /// The refusal that the client gets.
    fn validate(&self, review: &Review<'_>, object: &Value, warnings: &mut Vec<String>)
    -> Result<(), Status>;
}

/// Which parts of the housekeeping run. All of it is driven by watches.
#[derive(Debug, Clone)]
pub struct Housekeeping {
    /// Dependents of deleted owners go; foreground and orphan deletions complete.
    pub garbage_collection: bool,
    /// `default` and the `kube-*` namespaces exist.
    pub namespaces: bool,
    /// Deleted namespaces are emptied and go.
    pub namespace_deletion: bool,
    /// Each namespace has the ServiceAccount `default`.
    pub service_accounts: bool,
    /// PEM text for the ConfigMap `kube-root-ca.crt` of each namespace; `None`: no such ConfigMap.
    pub root_certificate: Option<String>,
    /// Events go after an hour.
    pub event_expiry: bool,
    /// The roles and bindings exist that every cluster has.
    pub roles: bool,
    /// ClusterRoles that aggregate others have their rules.
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

/// What [`crate::Registry::open`] is given beside the store.
#[derive(Clone, Default)]
pub struct Options {
    /// Further built-in kinds, as CustomResourceDefinition manifests (see `kinds/`).
    pub kinds: Vec<Value>,
    /// Which parts of the housekeeping run.
    pub housekeeping: Housekeeping,
    /// Rules for writes, asked in order.
    pub admission: Vec<Arc<dyn Admission>>,
    /// Calls webhooks; `None`: this server calls none, and what needs one fails.
    pub webhooks: Option<Arc<dyn WebhookCaller>>,
}
