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
    pub(crate) fn without_unread<K: Kind>(self, dynamic: &K::DynamicType) -> Self {
        if K::kind(dynamic) == "Secret" && K::group(dynamic).is_empty() {
            return self.fields(UNREAD_SECRETS);
        }
        self
    }

    /// Returns the text that identifies the scope among the caches of a kind.
    pub(crate) fn key(&self) -> String {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{} {} {}", part(&self.namespace), part(&self.labels), part(&self.fields))
    }

    /// Returns the path of the collection of `K` in this scope.
    pub(crate) fn path<K: Kind>(&self, dynamic: &K::DynamicType) -> String {
        let namespace = self.namespace.as_deref().filter(|_| has_namespaces::<K>());
        K::url_path(dynamic, namespace)
    }

    pub(crate) fn list_parameters(&self) -> ListParams {
        ListParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            ..ListParams::default()
        }
    }

    pub(crate) fn watch_parameters(&self, timeout: Option<u32>) -> WatchParams {
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
    use kube::api::DynamicObject;
    use kube::core::{ApiResource, PartialObjectMeta};

    use super::*;

    #[test]
    fn a_namespace_is_only_for_kinds_that_have_one() {
        let scope = Scope::namespace("kube-system");
        assert_eq!(scope.path::<Pod>(&()), "/api/v1/namespaces/kube-system/pods");
        assert_eq!(scope.path::<Node>(&()), "/api/v1/nodes");
        assert_eq!(scope.path::<PartialObjectMeta<Node>>(&()), "/api/v1/nodes");
        assert_eq!(Scope::default().path::<Pod>(&()), "/api/v1/pods");
        let resource = ApiResource::erase::<Pod>(&());
        assert_eq!(scope.path::<DynamicObject>(&resource), "/api/v1/namespaces/kube-system/pods");
    }

    #[test]
    fn secrets_that_no_controller_reads_are_left_out() {
        let scope = Scope::namespace("default");
        let secrets = scope.clone().without_unread::<Secret>(&());
        assert_eq!(
            secrets.watch_parameters(None).field_selector.as_deref(),
            Some("type!=helm.sh/release.v1")
        );
        assert_eq!(secrets.namespace, scope.namespace);
        assert_eq!(scope.clone().without_unread::<ConfigMap>(&()), scope);
    }

    #[test]
    fn selectors_reach_lists_and_watches() {
        let scope = Scope::namespace("kube-system").labels("tier=control-plane").fields("spec.nodeName=a");
        let (list, watch) = (scope.list_parameters(), scope.watch_parameters(Some(5)));
        assert_eq!(
            (list.label_selector.as_deref(), list.field_selector.as_deref()),
            (Some("tier=control-plane"), Some("spec.nodeName=a"))
        );
        assert_eq!((watch.label_selector, watch.field_selector), (list.label_selector, list.field_selector));
        assert_eq!((watch.timeout, watch.bookmarks), (Some(5), true));
        assert_ne!(scope.key(), Scope::namespace("kube-system").key());
    }
}
