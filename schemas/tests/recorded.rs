//! Objects recorded from Cluster API and Metal3: the definitions accept them, the types preserve all their
//! fields, and the rules allow them.

// Everything here is test code.

use apiextensions::CompiledSchema;
use cel::{Known, Rules};
use machinery::schema;
use schemas::admission::{Facts, admit};
use schemas::{bootstrap, cluster, controlplane, infrastructure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn recorded() -> Vec<Value> {
    serde_json::from_str(include_str!("data/recorded.json")).unwrap()
}

fn group_and_kind(object: &Value) -> (&str, &str) {
    let (group, _) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    (group, object["kind"].as_str().unwrap())
}

fn schema_of(object: &Value) -> CompiledSchema {
    let (group, kind) = group_and_kind(object);
    let crds = schemas::crds().unwrap();
    let this = |crd: &&Value| crd["spec"]["group"] == group && crd["spec"]["names"]["kind"] == kind;
    let crd = crds.iter().find(this).unwrap();
    CompiledSchema::parse(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap()
}

#[test]
fn a_server_accepts_every_definition_as_it_is_written() {
    for crd in schemas::crds().unwrap() {
        let mut served = crd.clone();
        assert_eq!(apiextensions::crd::decode(&mut served), Ok(Vec::new()), "{}", crd["metadata"]["name"]);
        apiextensions::crd::default(&mut served);
        // A definition always has a status after it was parsed.
        served.as_object_mut().unwrap().remove("status");
        assert_eq!(served, crd, "{}: nothing is unknown or left to a default", crd["metadata"]["name"]);
        apiextensions::crd::prepare_for_create(&mut served);
        assert_eq!(apiextensions::crd::validate(&served), [], "{}", crd["metadata"]["name"]);
    }
}

#[test]
fn definitions_accept_them() {
    for object in recorded() {
        let schema = schema_of(&object);
        let mut pruned = object.clone();
        assert_eq!(schema::prune(&schema, &mut pruned), Vec::<String>::new(), "{}", object["kind"]);
        assert_eq!(schema.validate(&object, None, Vec::new(), Known::default()), [], "{}", object["kind"]);
    }
}

/// Returns the CEL rules of the definition that an object with this `apiVersion`, kind and spec violates.
fn broken_rules(api_version: &str, kind: &str, spec: Value) -> Vec<String> {
    let object = json!({ "apiVersion": api_version, "kind": kind, "spec": spec });
    let schema = schema_of(&object);
    let found = Rules::of(&schema).validate(&schema, &object, None, Known::default());
    found.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
}

#[test]
fn cel_rules_say_what_is_wrong() {
    let bootstrap = "bootstrap.cluster.x-k8s.io/v1beta2";
    let core = "cluster.x-k8s.io/v1beta2";
    let partition = |partition: Value| json!({ "diskSetup": { "partitions": [partition] } });
    let layout = "spec.diskSetup.partitions[0]";
    let flags = json!([{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }]);
    for (api_version, kind, spec, expected) in [
        (bootstrap, "KubeadmConfig", partition(json!({ "device": "a", "layout": true })), vec![]),
        (
            bootstrap,
            "KubeadmConfig",
            partition(json!({ "device": "a" })),
            vec![format!("{layout}: exactly one of layout and diskLayout must be set")],
        ),
        (
            bootstrap,
            "KubeadmConfig",
            partition(json!({ "device": "a", "diskLayout": [{ "percentage": 5, "partitionType": "swap" }] })),
            vec![format!(
                "{layout}.diskLayout[0].partitionType: must be Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, \
                 LinuxExtended or a GUID"
            )],
        ),
        (
            bootstrap,
            "KubeadmConfig",
            json!({ "clusterConfiguration": { "scheduler": { "extraArgs": flags } } }),
            vec!["spec.clusterConfiguration.scheduler.extraArgs: names must be unique".to_owned()],
        ),
        (
            core,
            "MachineDrainRule",
            json!({ "machines": [{ "selector": {} }, { "selector": {} }] }),
            vec!["spec.machines: entries must be unique".to_owned()],
        ),
        (
            core,
            "MachineHealthCheck",
            json!({ "checks": { "unhealthyMachineConditions": [{ "type": "Ready" }] } }),
            vec![
                "spec.checks.unhealthyMachineConditions[0].type: type must not be one of: Ready, Available, \
                 HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated"
                    .to_owned(),
            ],
        ),
    ] {
        assert_eq!(broken_rules(api_version, kind, spec), expected, "{kind}");
    }
}

#[test]
fn rules_allow_them() {
    for object in recorded() {
        let (group, kind) = group_and_kind(&object);
        for old in [None, Some(&object)] {
            // The class of this Cluster was not recorded, and without its class a Cluster is not changed.
            if old.is_some() && object["spec"]["topology"].is_object() {
                continue;
            }
            let mut new = object.clone();
            let found = admit(group, kind, &mut new, old, false, &Facts::of_empty_server());
            assert!(found.is_ok(), "{kind}: {found:?}");
            assert_eq!(new, object, "{kind}: has its defaults already");
        }
    }
}

fn round_trip<T: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let mut object = serde_json::to_value(T::deserialize(object).unwrap()).unwrap();
    // k8s-openapi writes the times in metadata with another precision.
    object.as_object_mut().unwrap().remove("metadata");
    object
}

#[test]
fn types_lose_nothing() {
    for mut object in recorded() {
        let found = match object["kind"].as_str().unwrap() {
            "Cluster" => round_trip::<cluster::Cluster>(&object),
            "DevCluster" => round_trip::<infrastructure::DevCluster>(&object),
            "DevMachine" => round_trip::<infrastructure::DevMachine>(&object),
            "DevMachineTemplate" => round_trip::<infrastructure::DevMachineTemplate>(&object),
            "KubeadmConfig" => round_trip::<bootstrap::KubeadmConfig>(&object),
            "KubeadmConfigTemplate" => round_trip::<bootstrap::KubeadmConfigTemplate>(&object),
            "KubeadmControlPlane" => round_trip::<controlplane::KubeadmControlPlane>(&object),
            "Machine" => round_trip::<cluster::Machine>(&object),
            "MachineDeployment" => round_trip::<cluster::MachineDeployment>(&object),
            "MachineHealthCheck" => round_trip::<cluster::MachineHealthCheck>(&object),
            "MachineSet" => round_trip::<cluster::MachineSet>(&object),
            kind => panic!("no type is listed here for {kind}"),
        };
        object.as_object_mut().unwrap().remove("metadata");
        assert_eq!(found, object);
    }
}
