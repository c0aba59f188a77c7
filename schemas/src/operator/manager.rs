// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `operator`: manager.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Settings of all controllers of a manager.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderControllers {
    /// How long caches may take to fill, in nanoseconds. Managers have no argument for it.
    #[serde(rename = "cacheSyncTimeout", skip_serializing_if = "Option::is_none")]
    pub cache_sync_timeout: Option<i64>,
    /// How many objects of a kind are reconciled at the same time. Becomes --KIND-concurrency.
    #[serde(rename = "groupKindConcurrency", skip_serializing_if = "BTreeMap::is_empty")]
    pub group_kind_concurrency: BTreeMap<String, i64>,
    /// Whether a manager survives a panic. Managers have no argument for it.
    #[serde(rename = "recoverPanic", skip_serializing_if = "Option::is_none")]
    pub recover_panic: Option<bool>,
}

/// The health endpoint of a manager.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderHealth {
    /// Its address. Becomes --health-addr.
    #[serde(rename = "healthProbeBindAddress", skip_serializing_if = "Option::is_none")]
    pub health_probe_bind_address: Option<String>,
    /// The path of the liveness probe, without the slash.
    #[serde(rename = "livenessEndpointName", skip_serializing_if = "Option::is_none")]
    pub liveness_endpoint_name: Option<String>,
    /// The path of the readiness probe, without the slash.
    #[serde(rename = "readinessEndpointName", skip_serializing_if = "Option::is_none")]
    pub readiness_endpoint_name: Option<String>,
}

/// How one of several processes of a manager is chosen.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderLeaderElection {
    /// Whether one is chosen.
    #[serde(rename = "leaderElect")]
    pub leader_elect: bool,
    /// How long the others wait after the last renewal, such as 15s.
    #[serde(rename = "leaseDuration")]
    pub lease_duration: String,
    /// How long the leader tries to renew, such as 10s.
    #[serde(rename = "renewDeadline")]
    pub renew_deadline: String,
    /// The kind of the lock. Managers of providers use leases only.
    #[serde(rename = "resourceLock")]
    pub resource_lock: String,
    /// Name of the lock.
    #[serde(rename = "resourceName")]
    pub resource_name: String,
    /// Namespace of the lock.
    #[serde(rename = "resourceNamespace")]
    pub resource_namespace: String,
    /// The pause between attempts, such as 2s.
    #[serde(rename = "retryPeriod")]
    pub retry_period: String,
}

/// Settings of a manager, each of which becomes an argument of its container.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderManager {
    /// The only namespace whose objects are reconciled. Becomes --namespace.
    #[serde(rename = "cacheNamespace", skip_serializing_if = "Option::is_none")]
    pub cache_namespace: Option<String>,
    /// Settings of all controllers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ProviderControllers>,
    /// Features that are on or off. Becomes --feature-gates.
    #[serde(rename = "featureGates", skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// How long the manager may take to end. Managers have no argument for it.
    #[serde(rename = "gracefulShutDown", skip_serializing_if = "Option::is_none")]
    pub graceful_shut_down: Option<String>,
    /// The health endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<ProviderHealth>,
    /// How one of several processes is chosen.
    #[serde(rename = "leaderElection", skip_serializing_if = "Option::is_none")]
    pub leader_election: Option<ProviderLeaderElection>,
    /// How many objects are reconciled at the same time. Becomes --max-concurrent-reconciles.
    #[serde(rename = "maxConcurrentReconciles", skip_serializing_if = "Option::is_none")]
    pub max_concurrent_reconciles: Option<i64>,
    /// The metrics endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<ProviderMetrics>,
    /// The address of the profiler, which is off unless set. Becomes --profiler-address.
    #[serde(rename = "profilerAddress", skip_serializing_if = "Option::is_none")]
    pub profiler_address: Option<String>,
    /// After how long all objects are reconciled again, such as 10h. Becomes --sync-period.
    #[serde(rename = "syncPeriod", skip_serializing_if = "Option::is_none")]
    pub sync_period: Option<String>,
    /// How much is logged. Becomes --v.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<i64>,
    /// The webhook server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<ProviderWebhook>,
}

/// The metrics endpoint of a manager.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderMetrics {
    /// Its address. Becomes --metrics-bind-addr.
    #[serde(rename = "bindAddress", skip_serializing_if = "Option::is_none")]
    pub bind_address: Option<String>,
}

/// The webhook server of a manager.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderWebhook {
    /// The folder with its certificate. Becomes --webhook-cert-dir.
    #[serde(rename = "certDir", skip_serializing_if = "Option::is_none")]
    pub cert_dir: Option<String>,
    /// The host on which it listens. Becomes --webhook-host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The port on which it listens. Becomes --webhook-port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
}
