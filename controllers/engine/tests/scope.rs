//! Tests of `engine::scope`.

use engine::Scope;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::api::DynamicObject;
use kube::core::{ApiResource, PartialObjectMeta};

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
    assert_eq!(secrets.watch_parameters(None).field_selector.as_deref(), Some("type!=helm.sh/release.v1"));
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
