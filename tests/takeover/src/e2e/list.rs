//! The specs of upstream's end-to-end suite.

use anyhow::{Result, bail};

/// A spec: one `Describe` of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The file, and which of its specs it is.
    pub name: &'static str,
    /// What the suite calls it, as a part of a regular expression that fits no other.
    pub focus: &'static str,
    /// Why it cannot run without nodes.
    pub cannot: Option<&'static str>,
    /// Whether it is one of those that run unless specs are named.
    pub short: bool,
}

const KUBETEST: Option<&str> = Some("Kubernetes' conformance tests run in Docker, and need nodes");
const SELF_HOSTED: Option<&str> = Some("the managers run as Pods of the cluster that they have made");

const fn spec(name: &'static str, focus: &'static str) -> Spec {
    Spec { name, focus, cannot: None, short: false }
}

const fn short(name: &'static str, focus: &'static str) -> Spec {
    Spec { name, focus, cannot: None, short: true }
}

const fn cannot(name: &'static str, focus: &'static str, why: Option<&'static str>) -> Spec {
    Spec { name, focus, cannot: why, short: false }
}

/// All specs but those about upgrades of clusterctl, which download old releases.
pub const SPECS: [Spec; 35] = [
    short("quick_start", r"following the Cluster API quick-start Should"),
    spec("quick_start_class", r"quick-start with ClusterClass \[PR-Blocking\]"),
    spec("quick_start_v1beta1_class", r"quick-start with v1beta1 ClusterClass"),
    spec("quick_start_ipv6", r"quick-start with IPv6"),
    spec("quick_start_ignition", r"quick-start with Ignition"),
    spec("quick_start_no_workers", r"quick-start with ClusterClass without any worker"),
    cannot("quick_start_dualstack_ipv4", r"dualstack and ipv4 primary", KUBETEST),
    cannot("quick_start_dualstack_ipv6", r"dualstack and ipv6 primary", KUBETEST),
    spec("md_scale", r"MachineDeployment scale out/in"),
    short("md_remediations", r"MachineDeployment remediation"),
    spec("kcp_md_rollout", r"KCP and MachineDeployment rolling upgrades"),
    short("kcp_remediations", r"testing KCP remediation"),
    spec("kcp_adoption", r"testing KCP adoption"),
    cannot("kcp_infra_adoption", r"KCP infra adoption", Some("it needs addresses of machines in Docker")),
    spec("machine_pool", r"testing MachinePools"),
    spec("node_drain", r"testing Node drain"),
    spec("cluster_deletion", r"performing cluster deletion"),
    cannot("cluster_upgrade_conformance", r"ClusterClass and testing K8S conformance", KUBETEST),
    spec("cluster_upgrade", r"upgrading a workload cluster using ClusterClass \[ClusterClass\]"),
    spec("cluster_upgrade_ha", r"with a HA control plane \[ClusterClass\] Should create and upgrade"),
    spec("cluster_upgrade_scale_in", r"using scale-in rollout"),
    short("clusterclass_changes", r"testing ClusterClass changes"),
    spec("clusterclass_rollout", r"testing ClusterClass rollouts"),
    spec("runtimesdk", r"upgrading a workload cluster using ClusterClass with RuntimeSDK"),
    spec("runtimesdk_other_namespace", r"upgrading .* in a different NS with RuntimeSDK"),
    spec("runtimesdk_chained", r"chained upgrades"),
    short("in_place_update", r"in-place updating"),
    spec("scale", r"scale testing using in-memory"),
    cannot("k8s_conformance", r"testing K8S conformance \[Conformance\]", KUBETEST),
    cannot("k8s_conformance_ci", r"K8S conformance with K8S latest ci", KUBETEST),
    cannot("autoscaler", r"using the autoscaler", Some("the autoscaler runs as a Pod of the cluster")),
    cannot(
        "kubeadm_join_old_nodes",
        r"older version than the control plane",
        Some("it reads files of a container"),
    ),
    cannot("self_hosted", r"on self-hosted clusters using ClusterClass \[ClusterClass\]", SELF_HOSTED),
    cannot("self_hosted_ha", r"self-hosted clusters using ClusterClass with a HA", SELF_HOSTED),
    cannot("self_hosted_single_node", r"single-node self-hosted", SELF_HOSTED),
];

/// Returns the specs with these names: all that can run for `all`, the short ones without a name.
///
/// # Errors
/// No spec has the name, or it cannot run.
pub fn select<N: AsRef<str>>(names: &[N]) -> Result<Vec<Spec>> {
    let runs = SPECS.iter().filter(|spec| spec.cannot.is_none());
    match names {
        [] => Ok(runs.filter(|spec| spec.short).copied().collect()),
        [all] if all.as_ref() == "all" => Ok(runs.copied().collect()),
        names => names.iter().map(|name| named(name.as_ref())).collect(),
    }
}

fn named(name: &str) -> Result<Spec> {
    let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
        let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        bail!("no spec is called {name:?}; they are: {}", names.join(", "));
    };
    match spec.cannot {
        None => Ok(*spec),
        Some(why) => bail!("{name} cannot run here: {why}"),
    }
}
