//! Patches and variables of classes, and pools of addresses.

use std::net::IpAddr;

use cluster_topology::desired::Contract;
use cluster_topology::offline::{self, Kinds};
use machinery::decode;
use machinery::random::Random;
use schemas::in_cluster_pool::allocatable;
use schemas::ipam::InClusterIPPoolSpec;
use serde_json::{Value, json};

use crate::answers::like;
use crate::grammar::{below, many, pick};
use crate::templates;

/// Kinds of which only the version that is written is known.
struct AsWritten;

impl Kinds for AsWritten {
    fn in_version(&self, object: &Value, _: &str) -> Result<Value, String> {
        Ok(object.clone())
    }

    fn contract(&self, _: &str, _: &str) -> Contract {
        Contract::V1Beta2
    }
}

/// Renders a Cluster whose class has the patches and variables of a JSON object.
pub fn patches(input: &[u8]) -> String {
    let Ok(decoded) = decode::json(input) else { return "no JSON".into() };
    let (manifests, cluster) = class(&decoded.value);
    let render = || offline::render(&manifests, &cluster, &AsWritten);
    let rendered = render().map_err(|error| error.to_string());
    assert_eq!(rendered, render().map_err(|error| error.to_string()), "twice the same");
    rendered.map_or_else(
        |error| like(&error),
        |rendered| like(&rendered.desired.infrastructure["spec"].to_string()),
    )
}

/// Returns a class with its templates, and a Cluster of it.
fn class(input: &Value) -> (Vec<Value>, Value) {
    let names = [("InfraTemplate", "infra"), ("PlaneTemplate", "plane"), ("BootTemplate", "boot")];
    let reference =
        |kind: &str, name: &str| json!({"apiVersion": "x.example.io/v1", "kind": kind, "name": name});
    let mut manifests: Vec<Value> = names
        .iter()
        .map(|(kind, name)| {
            json!({"apiVersion": "x.example.io/v1", "kind": kind, "metadata": {"name": name},
                "spec": {"template": {"spec": {"list": ["x", {"a": 1}], "text": "t"}}}})
        })
        .collect();
    let [infra, plane, boot] = names.map(|(kind, name)| json!({"templateRef": reference(kind, name)}));
    manifests.push(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": {"name": "base"},
        "spec": {
            "infrastructure": infra, "controlPlane": plane,
            "workers": {"machineDeployments": [{"class": "small", "bootstrap": boot, "infrastructure": infra}]},
            "patches": input["patches"], "variables": input["variables"],
        },
    }));
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c1"},
        "spec": {"topology": {
            "classRef": {"name": "base"}, "version": "v1.35.0", "controlPlane": {"replicas": 1},
            "variables": input["values"],
            "workers": {"machineDeployments": [{"class": "small", "name": "md-0", "replicas": 2}]},
        }},
    });
    (manifests, cluster)
}

/// Generates patches and variables.
pub fn grammar(random: &Random) -> String {
    let operation = |_| {
        let path = pick(
            random,
            &[
                "/spec/template/spec/list/-",
                "/spec/template/spec/list/0",
                "/spec/template/spec/list/1/a",
                "/spec/template/spec/text",
                "/spec/template/spec/new",
                "/metadata/labels",
                "/spec",
                "/kind",
                "/spec/template/spec/~01/x",
            ],
        );
        let mut operation = json!({"op": pick(random, &["add", "replace", "remove", "add"]), "path": path});
        match below(random, 5) {
            0 => operation["value"] = json!([{"deep": [[1]]}, null]),
            1 => {
                operation["valueFrom"] = json!({"variable": pick(random, &["v", "v.a[0]", "builtin.cluster.name", "builtin", "none", "v[9]"])})
            }
            2 => operation["valueFrom"] = json!({"template": templates::statement(random, 2)}),
            3 => operation["valueFrom"] = json!({"template": templates::grammar(random)}),
            _ => operation["value"] = "x".into(),
        }
        operation
    };
    let patch = |number: usize| {
        let kind = pick(random, &["InfraTemplate", "PlaneTemplate", "BootTemplate", "None"]);
        let classes = pick(random, &["*", "small", "s*", "*all", "**"]);
        let resources = json!({"infrastructureCluster": below(random, 2) == 0, "controlPlane": below(random, 2) == 0,
            "machineDeploymentClass": {"names": [classes]}});
        let operations: Vec<Value> = (0..below(random, 5)).map(operation).collect();
        let mut patch = json!({"name": format!("p{number}"), "definitions": [{"jsonPatches": operations,
            "selector": {"apiVersion": "x.example.io/v1", "kind": kind, "matchResources": resources}}]});
        if below(random, 3) == 0 {
            patch["enabledIf"] = templates::statement(random, 1).into();
        }
        patch
    };
    let patches: Vec<Value> = (0..many(random, 8).min(40)).map(patch).collect();
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}, "default": {"a": ["d"]}});
    json!({"patches": patches, "values": [{"name": "v", "value": {"a": ["x"]}}],
        "variables": [{"name": "v", "required": below(random, 2) == 0, "schema": {"openAPIV3Schema": schema}}]})
    .to_string()
}

/// Parses a pool of addresses, and checks what it allocates.
pub fn pool(input: &[u8]) -> String {
    let Ok(decoded) = decode::json(input) else { return "no JSON".into() };
    let Ok(spec) = serde_json::from_value::<InClusterIPPoolSpec>(decoded.value) else {
        return "no pool".into();
    };
    match allocatable(&spec) {
        Err(problems) => like(&problems.iter().map(|problem| problem.detail.as_str()).collect::<String>()),
        Ok(addresses) => {
            let gateway: Option<IpAddr> = spec.gateway.as_deref().and_then(|gateway| gateway.parse().ok());
            for (first, last) in addresses.runs() {
                assert!(first <= last && first.is_ipv4() == last.is_ipv4(), "{first}-{last}");
                assert!(
                    gateway.is_none_or(|gateway| gateway < first || gateway > last),
                    "the gateway is allocated"
                );
            }
            format!("{} runs, {} addresses", addresses.runs().count().min(9), addresses.count().min(9))
        }
    }
}
