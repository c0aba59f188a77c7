//! Tests of `server::controllers::kinds`.

use engine::GroupKind;
use server::controllers::kinds::{WORKLOADS, list, unrun};
use server::controllers::selection::Selection;
use server::controllers::table::families;

const CORE: &str = "cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const IPAM: &str = "ipam.cluster.x-k8s.io";
const METAL3: &str = "metal3.io";
const METAL3_IPAM: &str = "ipam.metal3.io";

/// Kinds that no controller reconciles, neither here nor upstream. Controllers of other kinds read or write their objects.
const DATA: &[GroupKind] = &[
    GroupKind::new(BOOTSTRAP, "KubeadmConfigTemplate"),
    GroupKind::new(CONTROL_PLANE, "KubeadmControlPlaneTemplate"),
    GroupKind::new(CORE, "MachineDrainRule"),
    GroupKind::new("clusterctl.cluster.x-k8s.io", "Provider"),
    GroupKind::new(INFRASTRUCTURE, "DevClusterTemplate"),
    GroupKind::new(INFRASTRUCTURE, "DevMachinePoolTemplate"),
    GroupKind::new(INFRASTRUCTURE, "DevMachineTemplate"),
    GroupKind::new(INFRASTRUCTURE, "Metal3ClusterTemplate"),
    GroupKind::new(INFRASTRUCTURE, "Metal3RemediationTemplate"),
    // Those that refer to a pool of the in-cluster provider or to an IPPool of Metal3 get an address. As upstream, providers of other
    // pools are installed separately.
    GroupKind::new(IPAM, "IPAddress"),
    GroupKind::new(IPAM, "IPAddressClaim"),
    GroupKind::new(METAL3_IPAM, "IPAddress"),
    GroupKind::new(METAL3, "FirmwareSchema"),
    GroupKind::new(METAL3, "HardwareData"),
    GroupKind::new(METAL3, "HostDeployPolicy"),
    GroupKind::new(METAL3, "HostUpdatePolicy"),
    GroupKind::new("netboot.firstlight.dev", "DHCPLease"),
];

/// Returns the table that docs/kinds.md must contain.
fn page() -> String {
    let mut text = "| `--controllers` | reconciles |\n|---|---|\n".to_owned();
    for family in families() {
        text.push_str(&format!("| `{}` | {} |\n", family.name, family.reconciles()));
    }
    text.push_str(&format!("| none: no controller makes Pods of them | {} |\n", list(WORKLOADS.iter())));
    text
}

#[test]
fn every_kind_that_is_served_is_in_one_list() {
    // The kinds of Pods are built in, and have no definition.
    let controlled =
        families().into_iter().filter(|family| family.name != "pods").flat_map(|family| family.kinds);
    let mut known: Vec<GroupKind> = controlled.chain(DATA.iter().copied()).collect();
    known.sort();
    let served = schemas::crds().unwrap();
    let mut served: Vec<(&str, &str)> = served
        .iter()
        .map(|crd| (&crd["spec"]["group"], &crd["spec"]["names"]["kind"]))
        .map(|(group, kind)| (group.as_str().unwrap(), kind.as_str().unwrap()))
        .collect();
    served.sort_unstable();
    let known: Vec<(&str, &str)> = known.iter().map(|kind| (kind.group, kind.kind)).collect();
    assert_eq!(known, served);
}

#[test]
fn the_page_says_which_kinds_have_a_controller() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/kinds.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(&self::page()), "docs/kinds.md must have this table:\n\n{}", self::page());
}

#[test]
fn kinds_that_run_nowhere() {
    let told = |kind: &str, running: &str, is_of_provider: bool| {
        unrun("", kind, &running.parse::<Selection>().unwrap(), || is_of_provider).unwrap_or_default()
    };
    let stored = |kind: &str| format!("no Pod runs on this server: the {kind} is only stored");
    for of_provider in [true, false] {
        assert_eq!(told("ReplicationController", "all", of_provider), stored("ReplicationController"));
        assert_eq!(told("Pod", "core", of_provider), stored("Pod"));
        assert_eq!(told("Pod", "none", of_provider), "");
        assert_eq!(told("Secret", "all", of_provider), "");
    }
    assert_eq!(told("Pod", "all", true), "");
    assert!(told("Pod", "all", false).contains("cluster.x-k8s.io/provider: the Pod is only stored"));
}
