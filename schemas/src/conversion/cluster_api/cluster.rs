//! Cluster.

use super::super::moves::Move::{self, Each, FailureDomains, Reference, Rename, Within, Zero};
use super::parts::{deletion, health_check, strategy};
use super::status::{CONDITIONS, FAILURES};

pub const CLUSTER: &[Move] = &[
    Zero("/spec/paused"),
    Reference("/spec/controlPlaneRef"),
    Reference("/spec/infrastructureRef"),
    Rename("/spec/topology/class", "/spec/topology/classRef/name"),
    Rename("/spec/topology/classNamespace", "/spec/topology/classRef/namespace"),
    Within("/spec/topology/controlPlane", TOPOLOGY),
    Each("/spec/topology/workers/machineDeployments", TOPOLOGY),
    Each("/spec/topology/workers/machinePools", TOPOLOGY),
    Rename("/status/infrastructureReady", "/status/initialization/infrastructureProvisioned"),
    Rename("/status/controlPlaneReady", "/status/initialization/controlPlaneInitialized"),
    Zero("/status/initialization/infrastructureProvisioned"),
    Zero("/status/initialization/controlPlaneInitialized"),
    FailureDomains("/status/failureDomains"),
    CONDITIONS,
    Rename("/status/v1beta2/controlPlane", "/status/controlPlane"),
    Rename("/status/v1beta2/workers", "/status/workers"),
    FAILURES,
];

/// The control plane, or a group of workers, of a topology.
const TOPOLOGY: &[Move] = &[
    deletion!("", ""),
    Rename("/machineHealthCheck/enable", "/healthCheck/enabled"),
    health_check!("/machineHealthCheck", "/healthCheck"),
    strategy!("", "/healthCheck/remediation"),
];
