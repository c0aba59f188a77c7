//! Desired objects are those that upstream made (`class-change.jsonl`, `topology.jsonl`): spec, labels, annotations, and names up to their random end.
//!
//! The files have the objects at rest before each step: what changed since the step before, and what is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster_topology::{ControlPlane, Current, Desired, Workers};
use serde_json::{Value, json};

use crate::topology::support::{Fixture, typed};

/// Fields of recorded objects that the topology does not decide about: defaults, and what other controllers write.
const OTHERS: [&str; 11] = [
    "metadata.uid",
    "metadata.ownerReferences",
    "metadata.annotations.inmemorycluster.infrastructure.cluster.x-k8s.io/listener",
    "metadata.annotations.machinedeployment.clusters.x-k8s.io/revision",
    "spec.controlPlaneEndpoint.host",
    "spec.controlPlaneEndpoint.port",
    "spec.rollout.strategy.type",
    "spec.rollout.strategy.rollingUpdate.maxSurge",
    "spec.rollout.strategy.rollingUpdate.maxUnavailable",
    "status.version",
    "status.versions",
];

/// The objects of one moment.
#[derive(Clone, Default)]
struct Moment(BTreeMap<String, Value>);

fn steps(file: &str) -> Vec<(String, Moment)> {
    let steps: Vec<Value> = serde_json::from_str(file).expect("the file is JSON");
    let mut moment = Moment::default();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let steps = steps.into_iter().map(|step| {
        for gone in list(&step["gone"]) {
            moment.0.remove(gone.as_str().expect("a name"));
        }
        for object in list(&step["changed"]) {
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            moment
                .0
                .insert(format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"])), object);
        }
        (step["step"].as_str().expect("a text").to_owned(), moment.clone())
    });
    steps.collect()
}

impl Moment {
    fn named(&self, kind: &str, name: &str) -> &Value {
        self.0.get(&format!("{kind}/{name}")).unwrap_or_else(|| panic!("{kind} {name} is recorded"))
    }

    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.values().filter(move |object| object["kind"] == kind)
    }

    fn cluster(&self) -> &Value {
        self.of_kind("Cluster").next().expect("there is a Cluster")
    }

    /// The class and the Cluster with the defaults of its variables; nothing of it exists.
    fn fixture(&self) -> Fixture {
        let class = self.of_kind("ClusterClass").next().expect("there is a class").clone();
        let mut cluster = self.cluster().clone();
        let topology = &mut cluster["spec"]["topology"];
        for variable in class["spec"]["variables"].as_array().into_iter().flatten() {
            let default = &variable["schema"]["openAPIV3Schema"]["default"];
            let set = topology["variables"].as_array().cloned().unwrap_or_default();
            if !default.is_null() && !set.iter().any(|value| value["name"] == variable["name"]) {
                topology["variables"] = json!([{ "name": variable["name"], "value": default }]);
            }
        }
        let templates = self
            .0
            .values()
            .filter(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("Template")));
        Fixture { class, templates: templates.cloned().collect(), cluster, ..Fixture::new() }
    }

    /// What exists at this moment.
    fn current(&self) -> Current {
        let cluster = self.cluster();
        let reference = |reference: &Value| {
            let text = |name: &str| reference[name].as_str().expect("a text").to_owned();
            self.named(&text("kind"), &text("name")).clone()
        };
        let plane = reference(&cluster["spec"]["controlPlaneRef"]);
        let machines = reference(&plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]);
        let deployments = self.of_kind("MachineDeployment").map(|object| {
            let spec = &object["spec"]["template"]["spec"];
            let name = object["metadata"]["labels"]["topology.cluster.x-k8s.io/deployment-name"].as_str();
            let workers = Workers {
                object: Arc::new(typed(object)),
                bootstrap_template: reference(&spec["bootstrap"]["configRef"]),
                infrastructure_template: reference(&spec["infrastructureRef"]),
                health_check: None,
                is_upgrading: false,
            };
            (name.expect("it is of a topology").to_owned(), workers)
        });
        Current {
            cluster: Arc::new(typed(cluster)),
            infrastructure: Some(reference(&cluster["spec"]["infrastructureRef"])),
            control_plane: Some(ControlPlane {
                object: plane,
                machines_template: Some(machines),
                health_check: None,
            }),
            machine_deployments: deployments.collect(),
            machine_pools: BTreeMap::new(),
        }
    }
}

/// Paths of all leaves of a value; lists are leaves.
fn leaves(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(value, &path, found);
            }
        }
        value => drop(found.insert(path.to_owned(), value.clone())),
    }
}

/// Checks that a recorded object is the desired one. `random_end`: names that were drawn differ in their last five characters.
fn same(desired: &Value, recorded: &Value, random_end: bool, step: &str) {
    let (mut ours, mut theirs) = (BTreeMap::new(), BTreeMap::new());
    leaves(desired, "", &mut ours);
    leaves(recorded, "", &mut theirs);
    for (path, value) in &ours {
        let mut found = theirs.get(path).cloned().unwrap_or_default();
        let mut value = value.clone();
        if random_end && (path == "metadata.name" || path.ends_with("Ref.name")) {
            for name in [&mut found, &mut value] {
                let text = name.as_str().expect("a name");
                *name = json!(&text[..text.len() - 5]);
            }
        }
        if path == "metadata.ownerReferences"
            && !desired["kind"].as_str().is_some_and(|kind| kind.ends_with("Template"))
        {
            continue;
        }
        assert_eq!(value, found, "{step}: {path} of {}", desired["kind"]);
    }
    let more: BTreeSet<&String> = theirs.keys().filter(|path| !ours.contains_key(*path)).collect();
    let more: Vec<_> = more.into_iter().filter(|path| !OTHERS.contains(&path.as_str())).collect();
    assert!(more.is_empty(), "{step}: {} has more: {more:?}\n{desired}", desired["kind"]);
}

/// Compares everything with what is recorded at a moment.
fn same_cluster(desired: &Desired, recorded: &Moment, random_end: bool, step: &str) {
    let current = recorded.current();
    let same = |desired: &Value, recorded: &Value| same(desired, recorded, random_end, step);
    same(&desired.infrastructure, &current.infrastructure.expect("it exists"));
    let plane = current.control_plane.expect("it exists");
    same(&desired.control_plane, &plane.object);
    let machines = desired.control_plane_machines_template.as_ref().expect("the class has one");
    same(machines, &plane.machines_template.expect("it exists"));
    let check = |name: &Value| recorded.named("MachineHealthCheck", name.as_str().expect("a name"));
    let ours = desired.control_plane_health_check.as_ref().expect("the class has one");
    same(ours, check(&plane.object["metadata"]["name"]));
    assert_eq!(desired.machine_deployments.len(), current.machine_deployments.len(), "{step}");
    for (name, workers) in &desired.machine_deployments {
        let current = &current.machine_deployments[name];
        let object_name = json!(current.object.metadata.name);
        same(&workers.object, recorded.named("MachineDeployment", object_name.as_str().expect("a name")));
        same(&workers.bootstrap_template, &current.bootstrap_template);
        same(&workers.infrastructure_template, &current.infrastructure_template);
        same(workers.health_check.as_ref().expect("the class has one"), check(&object_name));
    }
    for (name, value) in
        [("infrastructureRef", &desired.infrastructure), ("controlPlaneRef", &desired.control_plane)]
    {
        assert_eq!(desired.cluster["spec"][name]["name"], value["metadata"]["name"], "{step}");
        assert_eq!(desired.cluster["spec"][name]["kind"], recorded.cluster()["spec"][name]["kind"], "{step}");
    }
    assert_eq!(desired.cluster["metadata"]["labels"], recorded.cluster()["metadata"]["labels"], "{step}");
}

#[test]
fn a_new_cluster_is_made_as_upstream_makes_it() {
    for file in [include_str!("data/class-change.json"), include_str!("data/topology.json")] {
        let (step, recorded) = steps(file).remove(0);
        let mut fixture = recorded.fixture();
        let spec = fixture.cluster["spec"].as_object_mut().expect("a spec");
        spec.remove("controlPlaneRef");
        spec.remove("infrastructureRef");
        let desired = fixture.desired().expect("it can be made");
        same_cluster(&desired, &recorded, true, &step);
    }
}

#[test]
fn changes_of_class_and_cluster_give_what_upstream_made_of_them() {
    for file in [include_str!("data/class-change.json"), include_str!("data/topology.json")] {
        let steps = steps(file);
        for pair in steps.windows(2) {
            let ((_, before), (step, after)) = (&pair[0], &pair[1]);
            let mut fixture = after.fixture();
            fixture.current = Some(before.current());
            let mut desired = fixture.desired().expect("it can be made");
            let (old, new) = (before.current(), after.current());
            let mut rotated = 0;
            for (name, workers) in &mut desired.machine_deployments {
                let (old, new) = (&old.machine_deployments[name], &new.machine_deployments[name]);
                let changed = old.bootstrap_template["spec"] != workers.bootstrap_template["spec"];
                let recorded =
                    old.bootstrap_template["metadata"]["name"] != new.bootstrap_template["metadata"]["name"];
                assert_eq!(changed, recorded, "{step}: a template gets a new name only if its spec changed");
                if changed {
                    let name = &new.bootstrap_template["metadata"]["name"];
                    workers.bootstrap_template["metadata"]["name"] = name.clone();
                    workers.object["spec"]["template"]["spec"]["bootstrap"]["configRef"]["name"] =
                        name.clone();
                    rotated += 1;
                }
                let infrastructure = &workers.infrastructure_template;
                assert_eq!(old.infrastructure_template["spec"], infrastructure["spec"], "{step}");
            }
            if !step.contains("somebody else") {
                same_cluster(&desired, after, false, step);
            } else {
                // The next reconcile puts back what somebody else changed.
                same_cluster(&desired, before, false, step);
            }
            let expected = [
                "md-boot-2 (rollout",
                "a variable with a default",
                "variable greeting",
                "override of the variable",
            ];
            assert_eq!(rotated, usize::from(expected.iter().any(|part| step.contains(part))), "{step}");
        }
    }
}
