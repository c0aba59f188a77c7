//! Defaults of the API, each once: admission fills them in where a field is absent, and plans assume them for objects that no admission of
//! ours has seen, as on another API server.

/// `spec.replicas` of MachineDeployments, MachineSets, MachinePools and KubeadmControlPlanes.
pub const REPLICAS: i32 = 1;

/// `spec.rollout.strategy.type` of MachineDeployments and KubeadmControlPlanes.
pub const ROLLOUT_STRATEGY: &str = ROLLING_UPDATE;
/// The strategy that replaces Machines step by step.
pub const ROLLING_UPDATE: &str = "RollingUpdate";
/// The strategy that replaces Machines when somebody deletes them.
pub const ON_DELETE: &str = "OnDelete";
/// `spec.rollout.strategy.rollingUpdate.maxSurge` of MachineDeployments and KubeadmControlPlanes.
pub const MAX_SURGE: i32 = 1;
/// `spec.rollout.strategy.rollingUpdate.maxUnavailable` of MachineDeployments.
pub const MAX_UNAVAILABLE: i32 = 0;

/// `spec.deletion.order` of MachineSets.
pub const DELETION_ORDER: &str = "Random";
/// `spec.deletion.nodeDeletionTimeoutSeconds` of Machines: how long the deletion of a Node may take.
pub const NODE_DELETION_TIMEOUT_SECONDS: i32 = 10;
/// `spec.checks.nodeStartupTimeoutSeconds` of MachineHealthChecks: how long a Node may take to start.
pub const NODE_STARTUP_TIMEOUT_SECONDS: i32 = 600;

/// `spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays` of KubeadmControlPlanes, by kubeadm.
pub const CERTIFICATE_VALIDITY_DAYS: i32 = 365;

/// `spec.strategy` of ClusterResourceSets.
pub const RESOURCE_SET_STRATEGY: &str = "ApplyOnce";
/// `spec.clientConfig.service.port` of ExtensionConfigs.
pub const EXTENSION_PORT: i32 = 443;

/// `spec.controlPlaneEndpoint.port` of Metal3Clusters.
pub const API_SERVER_PORT: i32 = 6443;
/// `spec.cloudProviderEnabled` of Metal3Clusters.
pub const CLOUD_PROVIDER_ENABLED: bool = false;

/// `spec.strategy.type` of Metal3Remediations, of which there is no other.
pub const REMEDIATION_STRATEGY: &str = "Reboot";
/// `spec.strategy.timeoutSeconds` of Metal3Remediations: how long a host has after a reboot until the next one.
pub const REMEDIATION_TIMEOUT_SECONDS: i32 = 600;
/// `spec.strategy.retryLimit` of Metal3Remediations, which is also its smallest value.
pub const REMEDIATION_RETRY_LIMIT: i32 = 1;
