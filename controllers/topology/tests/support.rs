//! A class with a Cluster of it, as the tests change them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster_topology::desired::{self, Contract, Inputs};
use cluster_topology::versions::{Facts, Hooks, Source, choose, plan};
use cluster_topology::{
    Blueprint, Current, Desired, PatchError, Patching, Step, Template, UpgradePlan, WorkerTemplates,
};
use schemas::cluster::{Cluster, ClusterClass};
use serde_json::{Value, json};

/// Reads a typed object.
pub fn typed<T: serde::de::DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).expect("the object has its type")
}

/// A source of names: `aaaa0`, `aaaa1` and so on.
pub fn names() -> impl FnMut() -> String {
    let mut drawn = 0;
    move || {
        drawn += 1;
        format!("aaaa{}", drawn - 1)
    }
}

/// A class, its templates, and a Cluster, as JSON that tests can change.
#[derive(Clone)]
pub struct Fixture {
    pub class: Value,
    pub templates: Vec<Value>,
    pub cluster: Value,
    pub current: Option<Current>,
    pub contract: Contract,
}

fn template(kind: &str, name: &str, spec: Value) -> Value {
    let group = if kind.starts_with("Boot") { "bootstrap" } else { "infrastructure" };
    json!({
        "apiVersion": format!("{group}.example.io/v1"),
        "kind": kind,
        "metadata": { "name": name, "namespace": "ns", "resourceVersion": "7", "uid": "u" },
        "spec": { "template": { "spec": spec } },
    })
}

impl Fixture {
    /// A control plane with machines, two classes of MachineDeployments, one of MachinePools; a Cluster with `md-0` and `mp-0`.
    pub fn new() -> Self {
        let reference = |kind: &str, name: &str| {
            let group = if kind.starts_with("Boot") { "bootstrap" } else { "infrastructure" };
            json!({ "templateRef": { "apiVersion": format!("{group}.example.io/v1"), "kind": kind, "name": name } })
        };
        let worker = |class: &str| {
            json!({ "class": class, "bootstrap": reference("BootTemplate", "boot"),
                    "infrastructure": reference("MachineTemplate", "machines") })
        };
        let class = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
            "metadata": { "name": "base", "namespace": "ns" },
            "spec": {
                "infrastructure": reference("InfraTemplate", "infra"),
                "controlPlane": {
                    "templateRef": reference("PlaneTemplate", "plane")["templateRef"],
                    "machineInfrastructure": reference("MachineTemplate", "plane-machines"),
                },
                "workers": {
                    "machineDeployments": [worker("small"), worker("large")],
                    "machinePools": [{ "class": "pool", "bootstrap": reference("BootTemplate", "boot"),
                        "infrastructure": reference("PoolTemplate", "pools") }],
                },
            },
        });
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": { "name": "c1", "namespace": "ns", "uid": "cluster-uid" },
            "spec": { "topology": {
                "classRef": { "name": "base" }, "version": "v1.35.0", "controlPlane": { "replicas": 3 },
                "workers": {
                    "machineDeployments": [{ "class": "small", "name": "md-0", "replicas": 2 }],
                    "machinePools": [{ "class": "pool", "name": "mp-0", "replicas": 1 }],
                },
            } },
        });
        let templates = vec![
            template("InfraTemplate", "infra", json!({ "zone": "a" })),
            template("PlaneTemplate", "plane", json!({ "config": { "list": ["x"] } })),
            template("MachineTemplate", "plane-machines", json!({ "size": "large" })),
            template("MachineTemplate", "machines", json!({ "size": "small" })),
            template("BootTemplate", "boot", json!({ "commands": ["one"] })),
            template("PoolTemplate", "pools", json!({ "image": "i" })),
        ];
        Self { class, templates, cluster, current: None, contract: Contract::V1Beta2 }
    }

    /// Adds an inline patch for the templates that a selector's `matchResources` selects.
    pub fn patch(&mut self, api_version: &str, kind: &str, resources: Value, patches: Value) -> &mut Value {
        let selector = json!({ "apiVersion": api_version, "kind": kind, "matchResources": resources });
        let place = &mut self.class["spec"]["patches"];
        if place.is_null() {
            *place = json!([]);
        }
        let list = place.as_array_mut().expect("a list");
        let name = format!("p{}", list.len());
        list.push(json!({ "name": name, "definitions": [{ "selector": selector, "jsonPatches": patches }] }));
        list.last_mut().expect("it was pushed")
    }

    /// Adds an inline patch for the infrastructure of the cluster.
    pub fn patch_infrastructure(&mut self, patches: Value) -> &mut Value {
        self.patch(
            "infrastructure.example.io/v1",
            "InfraTemplate",
            json!({ "infrastructureCluster": true }),
            patches,
        )
    }

    /// Defines a variable, inline or by an external patch, and gives it a value.
    pub fn variable(&mut self, name: &str, from: &str, value: Value) {
        let definition = json!({ "from": from, "required": false, "schema": { "openAPIV3Schema": {} } });
        for (object, path, item) in [
            (&mut self.class, "/status/variables", json!({ "name": name, "definitions": [definition] })),
            (&mut self.cluster, "/spec/topology/variables", json!({ "name": name, "value": value })),
        ] {
            let (above, last) = path.rsplit_once('/').expect("a path");
            let mut place = &mut *object;
            for token in above.split('/').skip(1) {
                place = &mut place[token];
            }
            let place = &mut place[last];
            if place.is_null() {
                *place = json!([]);
            }
            place.as_array_mut().expect("a list").push(item);
        }
    }

    fn template(&self, reference: &Value) -> Template {
        let named = |template: &&Value| {
            template["kind"] == reference["kind"] && template["metadata"]["name"] == reference["name"]
        };
        Template { object: self.templates.iter().find(named).expect("the template exists").clone() }
    }

    pub fn blueprint(&self) -> Blueprint {
        let spec = &self.class["spec"];
        let workers = |name: &str| -> BTreeMap<String, WorkerTemplates> {
            let classes = spec["workers"][name].as_array().into_iter().flatten();
            let templates = classes.map(|class| {
                let bootstrap = self.template(&class["bootstrap"]["templateRef"]);
                let infrastructure = self.template(&class["infrastructure"]["templateRef"]);
                (
                    class["class"].as_str().expect("a name").to_owned(),
                    WorkerTemplates { bootstrap, infrastructure },
                )
            });
            templates.collect()
        };
        let machines = &spec["controlPlane"]["machineInfrastructure"]["templateRef"];
        Blueprint {
            class: Arc::new(typed::<ClusterClass>(&self.class)),
            infrastructure: self.template(&spec["infrastructure"]["templateRef"]),
            control_plane: self.template(&spec["controlPlane"]["templateRef"]),
            control_plane_machines: (!machines.is_null()).then(|| self.template(machines)),
            machine_deployments: workers("machineDeployments"),
            machine_pools: workers("machinePools"),
        }
    }

    pub fn current(&self) -> Current {
        let cluster = Arc::new(typed::<Cluster>(&self.cluster));
        match &self.current {
            Some(current) => Current { cluster, ..current.clone() },
            None => Current {
                cluster,
                infrastructure: None,
                control_plane: None,
                machine_deployments: BTreeMap::new(),
                machine_pools: BTreeMap::new(),
            },
        }
    }

    /// The desired objects without patches.
    pub fn unpatched(&self) -> Result<Desired, String> {
        let (blueprint, current) = (self.blueprint(), self.current());
        let facts = Facts::of(&current)?;
        let plan = match &facts.control_plane {
            None => UpgradePlan::default(),
            Some(plane) => {
                plan(Source::OneMinor, &facts.wanted, &plane.version, facts.lowest_workers.as_deref())?
            }
        };
        let versions = choose(&facts, &plan, &Hooks::default())?;
        let inputs =
            Inputs { blueprint: &blueprint, current: &current, contract: self.contract, versions: &versions };
        desired::compute(&inputs, &mut names()).map_err(|error| error.to_string())
    }

    /// The desired objects with inline patches.
    pub fn desired(&self) -> Result<Desired, PatchError> {
        let (blueprint, current) = (self.blueprint(), self.current());
        let unpatched = self.unpatched().expect("the objects can be made");
        let mut patching = Patching::new(&blueprint, &current.cluster, unpatched, self.contract)?;
        match patching.next()? {
            Step::Done => patching.finish(),
            other => panic!("no extension is to be asked: {other:?}"),
        }
    }

    /// The message of the patch that fails.
    pub fn error(&self) -> String {
        self.desired().expect_err("a patch fails").to_string()
    }
}
