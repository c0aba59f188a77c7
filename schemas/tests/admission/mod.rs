//! Table tests of defaults and rules.

mod bounds;
mod class_recordings;
mod cluster;
mod cluster_class;
mod cluster_topology;
mod defaults;
mod features;
mod host_claim;
mod in_cluster_pool;
mod kubeadm;
mod machine_pool;
mod metal3;
mod metal3_provider;
mod other;
mod variables;

use schemas::admission::{Facts, Features, admit, check, set_defaults};
use serde_json::{Map, Value, json};

/// Applies a JSON merge patch.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let fields = target.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

/// A row of a table: name, merge patch of a valid object, and the expected errors, each as `path: kind of
/// error`.
pub type Case<'a> = (&'a str, Value, &'a [&'a str]);

/// Checks the creation of each case.
pub fn creations(group: &str, kind: &str, good: &Value, cases: &[Case<'_>]) {
    for (name, patch, expected) in cases {
        let mut object = good.clone();
        merge(&mut object, patch);
        let found = admit(group, kind, &mut object, None, false, &Facts::of_empty_server());
        assert_eq!(summary(found), *expected, "{kind}: {name}");
    }
}

/// Checks the update of the valid object to each case.
pub fn updates(group: &str, kind: &str, good: &Value, cases: &[Case<'_>]) {
    for (name, patch, expected) in cases {
        let mut object = good.clone();
        merge(&mut object, patch);
        let found = admit(group, kind, &mut object, Some(good), false, &Facts::of_empty_server());
        assert_eq!(summary(found), *expected, "{kind}: {name}");
    }
}

/// Checks the creation of each case with all features enabled.
pub fn with_features(group: &str, kind: &str, good: &Value, cases: &[Case<'_>]) {
    created_with(ALL, group, kind, good, cases);
}

/// All features.
pub const ALL: Features = Features {
    cluster_topology: true,
    in_place_updates: true,
    machine_pool: true,
    machine_set_preflight_checks: true,
    machine_taint_propagation: true,
    kubeadm_bootstrap_format_ignition: true,
    runtime_sdk: true,
    volume_attachments: true,
};

/// Checks the creation of each case with these features.
pub fn created_with(features: Features, group: &str, kind: &str, good: &Value, cases: &[Case<'_>]) {
    for (name, patch, expected) in cases {
        let mut object = good.clone();
        merge(&mut object, patch);
        let facts = Facts::of_empty_server();
        let mut found = set_defaults(group, kind, &mut object, None, &facts).err().unwrap_or_default();
        found.extend(check(group, kind, &object, None, false, features, &facts).err().unwrap_or_default());
        assert_eq!(
            summary(if found.is_empty() { Ok(Vec::new()) } else { Err(found) }),
            *expected,
            "{kind}: {name}"
        );
    }
}

pub fn summary(found: Result<Vec<String>, Vec<machinery::field::FieldError>>) -> Vec<String> {
    let errors = found.err().unwrap_or_default();
    let short = |reason: &'static str| reason.trim_start_matches("FieldValue");
    errors.iter().map(|error| format!("{}: {}", error.field, short(error.kind.reason()))).collect()
}

#[test]
fn what_is_unknown_or_has_the_wrong_type_passes() {
    let nothing: &[Value] =
        &[json!(null), json!(5), json!({}), json!({ "spec": 5 }), json!({ "spec": { "replicas": [] } })];
    for (group, kind) in [
        ("", "Pod"),
        ("cluster.x-k8s.io", "Other"),
        ("cluster.x-k8s.io", "MachineDeployment"),
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
        ("infrastructure.cluster.x-k8s.io", "DevMachineTemplate"),
        ("infrastructure.cluster.x-k8s.io", "Metal3Cluster"),
        ("infrastructure.cluster.x-k8s.io", "Metal3RemediationTemplate"),
        ("ipam.cluster.x-k8s.io", "InClusterIPPool"),
        ("ipam.metal3.io", "IPAddress"),
        ("ipam.metal3.io", "IPClaim"),
        ("ipam.metal3.io", "IPPool"),
        ("metal3.io", "BareMetalHost"),
        ("metal3.io", "HostClaim"),
        ("metal3.io", "HostDeployPolicy"),
        ("metal3.io", "BMCEventSubscription"),
    ] {
        for object in nothing {
            for old in [None, Some(object)] {
                let mut new = object.clone();
                let _ = admit(group, kind, &mut new, old, true, &Facts::of_empty_server());
            }
        }
    }
    let mut pod = json!({ "spec": {} });
    assert_eq!(admit("", "Pod", &mut pod, None, false, &Facts::of_empty_server()), Ok(Vec::new()));
    assert_eq!(pod, json!({ "spec": {} }));
}
