//! The names that Metal3's clients know (`contract/metal3`, §0).

/// Finalizer of a Metal3Machine, until its host has been released. Metal3's data claims have it, too.
pub const MACHINE_FINALIZER: &str = "metal3machine.infrastructure.cluster.x-k8s.io";
/// Finalizer of a Metal3Cluster, until its Cluster has no Machines.
pub const CLUSTER_FINALIZER: &str = "metal3cluster.infrastructure.cluster.x-k8s.io";
/// Finalizer of a Metal3Remediation, until its host is no longer held off.
pub const REMEDIATION_FINALIZER: &str = "metal3remediation.infrastructure.cluster.x-k8s.io";
/// Finalizer of a HostClaim, until its host has been released.
pub const CLAIM_FINALIZER: &str = "metal3.io/hostclaim";
/// The value of the annotation with which a HostClaim pauses its host.
pub const PAUSED_BY_CLAIM: &str = "metal3.io/hostclaim";
/// Annotation of a Secret that was copied for a HostClaim: the claim as `namespace/name`.
pub const COPIED_FOR: &str = "metal3.io/hostclaim";
/// Annotation of a Metal3Machine: its host as `namespace/name`.
pub const HOST: &str = "metal3.io/BareMetalHost";
/// Label of a Node: the UID of its BareMetalHost.
pub const HOST_UUID: &str = "metal3.io/uuid";
/// Label of a host that only the same control plane or MachineDeployment may use again.
pub const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
/// Label of a host: its failure domain.
pub const FAILURE_DOMAIN: &str = "infrastructure.cluster.x-k8s.io/failure-domain";
/// Annotation of a host that a remediation has given up. Only a person removes it.
pub const UNHEALTHY: &str = "capm3.metal3.io/unhealthy";
/// The older key of [`UNHEALTHY`].
pub const UNHEALTHY_OLDER: &str = "capi.metal3.io/unhealthy";
/// Annotation of a Metal3Cluster: the prefixes of the labels that are copied from hosts to Nodes, separated by commas.
pub const LABEL_SYNC_PREFIXES: &str = "metal3.io/metal3-label-sync-prefixes";
/// The label with the CPU architecture. If a host does not have it, its `spec.architecture` counts as the label.
pub const ARCHITECTURE: &str = "kubernetes.io/arch";
/// The group of this provider's kinds.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";
