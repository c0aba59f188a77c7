//! KubeadmConfig, KubeadmControlPlane and their templates.

use serde_json::{Value, json};

use super::super::moves::Move::{self, Arguments, Custom, Each, Reference, Rename, Seconds, Within, Zero};
use super::super::path::{at, put, take};
use super::parts::deletion;
use super::status::{CONDITIONS, COUNTERS, FAILURES};

pub const KUBEADM_CONFIG: &[Move] = &[
    Within("/spec", SPEC),
    Rename("/status/ready", "/status/initialization/dataSecretCreated"),
    Zero("/status/initialization/dataSecretCreated"),
    CONDITIONS,
    FAILURES,
];

pub const KUBEADM_CONFIG_TEMPLATE: &[Move] = &[Within("/spec/template/spec", SPEC)];

pub const KUBEADM_CONTROL_PLANE: &[Move] = &[
    Custom { up: |_| {}, down: ready_down },
    Within(
        "/spec",
        &[
            Reference("/machineTemplate/infrastructureRef"),
            Rename("/machineTemplate/infrastructureRef", "/machineTemplate/spec/infrastructureRef"),
            Rename("/machineTemplate/readinessGates", "/machineTemplate/spec/readinessGates"),
            CONTROL_PLANE_SPEC,
        ],
    ),
    Rename("/status/initialized", "/status/initialization/controlPlaneInitialized"),
    Zero("/status/initialization/controlPlaneInitialized"),
    Rename("/status/lastRemediation/timestamp", "/status/lastRemediation/time"),
    CONDITIONS,
    FAILURES,
    COUNTERS,
];

pub const KUBEADM_CONTROL_PLANE_TEMPLATE: &[Move] =
    &[Within("/spec/template/spec", &[Custom { up: strategy_type_up, down: |_| {} }, CONTROL_PLANE_SPEC])];

/// The spec of a control plane and of its template.
const CONTROL_PLANE_SPEC: Move = Move::All(&[
    Within("/kubeadmConfigSpec", SPEC),
    Rename("/machineTemplate/taints", "/machineTemplate/spec/taints"),
    deletion!("/machineTemplate", "/machineTemplate/spec"),
    Rename("/machineNamingStrategy/template", "/machineNaming/template"),
    Rename("/rolloutBefore/certificatesExpiryDays", "/rollout/before/certificatesExpiryDays"),
    Rename("/rolloutAfter", "/rollout/after"),
    Rename("/rolloutStrategy", "/rollout/strategy"),
    Rename("/remediationStrategy/maxRetry", "/remediation/maxRetry"),
    Seconds("/remediationStrategy/minHealthyPeriod", "/remediation/minHealthyPeriodSeconds"),
    Seconds("/remediationStrategy/retryPeriod", "/remediation/retryPeriodSeconds"),
    Zero("/remediation/retryPeriodSeconds"),
]);

/// The spec of a KubeadmConfig.
const SPEC: &[Move] = &[
    Custom { up: |_| {}, down: drop_timeouts },
    Each("/files", &[Zero("/append")]),
    Zero("/ignition/containerLinuxConfig/strict"),
    Arguments("/clusterConfiguration/apiServer/extraArgs"),
    Arguments("/clusterConfiguration/controllerManager/extraArgs"),
    Arguments("/clusterConfiguration/scheduler/extraArgs"),
    Arguments("/clusterConfiguration/etcd/local/extraArgs"),
    Each("/clusterConfiguration/apiServer/extraVolumes", &[Zero("/readOnly")]),
    Each("/clusterConfiguration/controllerManager/extraVolumes", &[Zero("/readOnly")]),
    Each("/clusterConfiguration/scheduler/extraVolumes", &[Zero("/readOnly")]),
    Each("/initConfiguration/bootstrapTokens", &[Seconds("/ttl", "/ttlSeconds")]),
    Arguments("/initConfiguration/nodeRegistration/kubeletExtraArgs"),
    Arguments("/joinConfiguration/nodeRegistration/kubeletExtraArgs"),
    Zero("/joinConfiguration/discovery/bootstrapToken/unsafeSkipCAVerification"),
    Zero("/joinConfiguration/discovery/file/kubeConfig/cluster/insecureSkipTLSVerify"),
    Zero("/joinConfiguration/discovery/file/kubeConfig/user/exec/provideClusterInfo"),
    Seconds("/joinConfiguration/discovery/timeout", "/joinConfiguration/timeouts/tlsBootstrapSeconds"),
    Seconds("/clusterConfiguration/apiServer/timeoutForControlPlane", INIT_TIMEOUT),
    Custom { up: copy_timeout, down: |_| {} },
];

const INIT_TIMEOUT: &str = "/initConfiguration/timeouts/controlPlaneComponentHealthCheckSeconds";
const JOIN_TIMEOUT: &str = "/joinConfiguration/timeouts/controlPlaneComponentHealthCheckSeconds";

/// The older version has one timeout for the first machine and for those that join.
fn copy_timeout(spec: &mut Value) {
    if let Some(timeout) = at(spec, INIT_TIMEOUT).cloned() {
        put(spec, JOIN_TIMEOUT, timeout);
    }
}

/// Drops the timeouts that the older version does not have.
fn drop_timeouts(spec: &mut Value) {
    take(spec, "/initConfiguration/timeouts");
    take(spec, "/joinConfiguration/timeouts");
}

/// As upstream, a strategy without a type is a rolling update.
fn strategy_type_up(spec: &mut Value) {
    let Some(strategy) = at(spec, "/rolloutStrategy").and_then(Value::as_object_mut) else { return };
    strategy.entry("type").or_insert(json!("RollingUpdate"));
}

/// A control plane is ready if a machine was ready in the sense of `v1beta1`.
fn ready_down(control_plane: &mut Value) {
    let Some(status) = at(control_plane, "/status").and_then(Value::as_object_mut) else { return };
    if status.get("readyReplicas").and_then(Value::as_i64).is_some_and(|ready| ready > 0) {
        status.insert("ready".into(), json!(true));
    }
}
