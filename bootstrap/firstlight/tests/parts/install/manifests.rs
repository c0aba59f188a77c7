//! Tests of `firstlight::install::manifests`.

use clusterctl::built_in;
use firstlight::install::manifests::{carried_over, owned, rules, shared};
use serde_json::{Value, json};
use server::controllers::selection::Selection;

fn all() -> Selection {
    carried_over(Selection::all(), true)
}

#[test]
fn what_the_source_does_not_run_does_not_run_at_the_target() {
    let source: Selection = "core,kubeadm,addons,pods,operator".parse().unwrap();
    let installed = carried_over(source, false);
    assert_eq!(installed.to_string(), "core,kubeadm-bootstrap,kubeadm-control-plane,addons");
    let objects = owned("image:v1", &installed, None).unwrap();
    let arguments = &objects.last().unwrap()["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(arguments[1], format!("--controllers={installed}"));
}

#[test]
fn every_kind_that_controllers_use_is_in_a_group_of_the_role() {
    let rules = rules();
    let groups = rules[0]["apiGroups"].as_array().unwrap();
    for definition in
        shared(&all(), true).unwrap().iter().filter(|object| object["kind"] == "CustomResourceDefinition")
    {
        let group = &definition["spec"]["group"];
        assert!(groups.contains(group) || group == "clusterctl.cluster.x-k8s.io", "{group}");
    }
}

#[test]
fn kinds_of_bare_metal_are_not_installed() {
    let objects = shared(&all().without("metal"), false).unwrap();
    let names: Vec<&str> =
        objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"devmachines.infrastructure.cluster.x-k8s.io"), "{names:?}");
    assert!(names.iter().all(|name| !name.contains("metal3") && !name.contains("netboot")), "{names:?}");
}

#[test]
fn what_is_namespaced_is_where_its_namespace_is_made_first() {
    let owned = owned("image:v1", &all(), None).unwrap();
    let objects: Vec<Value> = shared(&all(), true).unwrap().into_iter().chain(owned).collect();
    // Each cluster has that of the system.
    let system = json!(built_in::NAMESPACE);
    let mut namespaces = vec![&system];
    for object in &objects {
        if object["kind"] == "Namespace" {
            namespaces.push(&object["metadata"]["name"]);
        }
        let namespace = &object["metadata"]["namespace"];
        assert!(namespace.is_null() || namespaces.contains(&namespace), "{object}");
    }
    assert_eq!(objects.last().unwrap()["spec"]["template"]["spec"]["containers"][0]["image"], "image:v1");
}
