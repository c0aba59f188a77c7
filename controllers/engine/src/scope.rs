//! The part of a kind's objects that a cache holds.

use kube::api::{ListParams, WatchParams};

use crate::object::{Kind, NamespacedName};

/// Field selector without the releases of Helm. A production management cluster may have hundreds of these Secrets, of up to 1 MiB each.
const UNREAD_SECRETS: &str = "type!=helm.sh/release.v1";

/// Limits a cache to some objects of a kind. The default is all objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The only namespace; `None` for all namespaces. Kinds without namespaces ignore it.
    pub namespace: Option<String>,
    /// Label selector in Kubernetes' text form, for example `tier=control-plane`.
    pub labels: Option<String>,
    /// Field selector in Kubernetes' text form, for example `metadata.name=coredns`.
    pub fields: Option<String>,
}

impl Scope {
    /// Returns the scope of all objects of one namespace.
    pub fn namespace(namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::default() }
    }

    /// Returns the scope of the object of this name.
    pub fn named(name: &NamespacedName) -> Self {
        let namespace = name.scope().map(str::to_owned);
        Self { namespace, ..Self::default() }.fields(format!("metadata.name={}", name.name))
    }

    /// Returns the scope with a label selector.
    #[must_use]
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self { labels: Some(selector.into()), ..self }
    }

    /// Returns the scope with a field selector.
    #[must_use]
    pub fn fields(self, selector: impl Into<String>) -> Self {
        Self { fields: Some(selector.into()), ..self }
    }

    /// Returns the scope without the objects of a kind that no controller reads.
    #[must_use]
    pub fn without_unread<K: Kind>(self, dynamic: &K::DynamicType) -> Self {
        if K::kind(dynamic) == "Secret" && K::group(dynamic).is_empty() {
            return self.fields(UNREAD_SECRETS);
        }
        self
    }

    /// Returns the text that identifies the scope among the caches of a kind.
    pub fn key(&self) -> String {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{} {} {}", part(&self.namespace), part(&self.labels), part(&self.fields))
    }

    /// Returns the path of the collection of `K` in this scope.
    pub fn path<K: Kind>(&self, dynamic: &K::DynamicType) -> String {
        let namespace = self.namespace.as_deref().filter(|_| has_namespaces::<K>());
        K::url_path(dynamic, namespace)
    }

    /// Returns the parameters of a list in this scope.
    pub fn list_parameters(&self) -> ListParams {
        ListParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            ..ListParams::default()
        }
    }

    /// Returns the parameters of a watch in this scope, which ends after `timeout` seconds.
    pub fn watch_parameters(&self, timeout: Option<u32>) -> WatchParams {
        WatchParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            timeout,
            bookmarks: true,
            ..WatchParams::default()
        }
    }
}

/// Returns whether objects of the kind have a namespace. A kind that is known only at run time has one: the contracts of Cluster API demand
/// it of all kinds that a provider adds.
fn has_namespaces<K: Kind>() -> bool {
    std::any::type_name::<K::Scope>() != std::any::type_name::<kube::core::ClusterResourceScope>()
}
