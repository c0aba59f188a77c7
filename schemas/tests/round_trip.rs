//! An object of each kind with every field set passes through its Rust type unchanged.

// Everything here is test code.

use schemas::{
    addons, bootstrap, cluster, controlplane, infrastructure, ipam, metal3, metal3_ipam, netboot, operator,
    runtime,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Returns a value with every field that the schema has.
fn full(schema: &Value) -> Value {
    if let Some(allowed) = schema["enum"].as_array() {
        return allowed[0].clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return json!("25%");
    }
    match schema["type"].as_str() {
        Some("string") if schema["format"] == "date-time" => json!("2026-11-21T02:48:04Z"),
        Some("string") => json!("text"),
        Some("boolean") => json!(true),
        Some("integer") => json!(7),
        Some("number") => json!(1.5),
        Some("array") => json!([full(&schema["items"])]),
        Some("object") if schema["additionalProperties"].is_object() => {
            json!({ "key": full(&schema["additionalProperties"]) })
        }
        Some("object") if schema["properties"].is_object() => {
            let properties = schema["properties"].as_object().unwrap();
            properties
                .iter()
                .map(|(name, property)| (name.clone(), full(property)))
                .collect::<Map<_, _>>()
                .into()
        }
        _ if schema["x-kubernetes-preserve-unknown-fields"] == true => json!({ "anything": [1, "two"] }),
        _ => json!({}),
    }
}

fn round_trip<T: DeserializeOwned + Serialize + kube::Resource<DynamicType = ()>>() {
    let name = format!("{}.{}", T::plural(&()), T::group(&()));
    let crds = schemas::crds().unwrap();
    let crd = crds.iter().find(|crd| crd["metadata"]["name"] == name.as_str()).unwrap();
    let mut object = full(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    object["apiVersion"] = json!(T::api_version(&()));
    object["kind"] = json!(T::kind(&()));
    object["metadata"] = json!({ "name": "x" });
    let typed = T::deserialize(&object).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), object, "{name}");

    let mut least = json!({ "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {} });
    assert!(T::deserialize(&least).is_ok(), "{name}: missing fields");
    least["later"] = json!({ "field": 1 });
    assert!(T::deserialize(&least).is_ok(), "{name}: fields of a later version");
}

#[test]
fn every_field_of_every_kind() {
    round_trip::<addons::ClusterResourceSet>();
    round_trip::<addons::ClusterResourceSetBinding>();
    round_trip::<bootstrap::KubeadmConfig>();
    round_trip::<bootstrap::KubeadmConfigTemplate>();
    round_trip::<cluster::Cluster>();
    round_trip::<cluster::ClusterClass>();
    round_trip::<cluster::Machine>();
    round_trip::<cluster::MachineDeployment>();
    round_trip::<cluster::MachineDrainRule>();
    round_trip::<cluster::MachineHealthCheck>();
    round_trip::<cluster::MachinePool>();
    round_trip::<cluster::MachineSet>();
    round_trip::<controlplane::KubeadmControlPlane>();
    round_trip::<controlplane::KubeadmControlPlaneTemplate>();
    round_trip::<infrastructure::DevCluster>();
    round_trip::<infrastructure::DevClusterTemplate>();
    round_trip::<infrastructure::DevMachine>();
    round_trip::<infrastructure::DevMachinePool>();
    round_trip::<infrastructure::DevMachinePoolTemplate>();
    round_trip::<infrastructure::DevMachineTemplate>();
    round_trip::<infrastructure::Metal3Cluster>();
    round_trip::<infrastructure::Metal3ClusterTemplate>();
    round_trip::<infrastructure::Metal3Data>();
    round_trip::<infrastructure::Metal3DataClaim>();
    round_trip::<infrastructure::Metal3DataTemplate>();
    round_trip::<infrastructure::Metal3Machine>();
    round_trip::<infrastructure::Metal3MachineTemplate>();
    round_trip::<infrastructure::Metal3Remediation>();
    round_trip::<infrastructure::Metal3RemediationTemplate>();
    round_trip::<ipam::IPAddress>();
    round_trip::<ipam::IPAddressClaim>();
    round_trip::<ipam::InClusterIPPool>();
    round_trip::<ipam::GlobalInClusterIPPool>();
    round_trip::<metal3::BMCEventSubscription>();
    round_trip::<metal3::BareMetalHost>();
    round_trip::<metal3::DataImage>();
    round_trip::<metal3::FirmwareSchema>();
    round_trip::<metal3::HardwareData>();
    round_trip::<metal3::HostClaim>();
    round_trip::<metal3::HostDeployPolicy>();
    round_trip::<metal3::HostFirmwareComponents>();
    round_trip::<metal3::HostFirmwareSettings>();
    round_trip::<metal3::HostUpdatePolicy>();
    round_trip::<metal3::PreprovisioningImage>();
    round_trip::<metal3_ipam::IPAddress>();
    round_trip::<metal3_ipam::IPClaim>();
    round_trip::<metal3_ipam::IPPool>();
    round_trip::<netboot::Agent>();
    round_trip::<netboot::DHCPLease>();
    round_trip::<operator::AddonProvider>();
    round_trip::<operator::BootstrapProvider>();
    round_trip::<operator::ControlPlaneProvider>();
    round_trip::<operator::CoreProvider>();
    round_trip::<operator::IPAMProvider>();
    round_trip::<operator::InfrastructureProvider>();
    round_trip::<operator::RuntimeExtensionProvider>();
    round_trip::<runtime::ExtensionConfig>();
}

#[test]
fn an_empty_list_of_volumes_is_not_none() {
    let config = |text: Value| serde_json::from_value::<metal3::RaidConfig>(text).unwrap();
    assert_eq!(config(json!({ "hardwareRAIDVolumes": [] })).hardware_raid_volumes, Some(Vec::new()));
    assert_eq!(config(json!({ "hardwareRAIDVolumes": null })).hardware_raid_volumes, None);
    assert_eq!(config(json!({})).hardware_raid_volumes, None);
}

#[test]
fn an_empty_list_of_taints_is_not_none() {
    for (taints, expected) in [(json!([]), json!({ "taints": [] })), (Value::Null, json!({}))] {
        let mut registration = json!({});
        if !taints.is_null() {
            registration["taints"] = taints;
        }
        let typed: bootstrap::NodeRegistrationOptions = serde_json::from_value(registration).unwrap();
        assert_eq!(serde_json::to_value(&typed).unwrap(), expected);
    }
}
