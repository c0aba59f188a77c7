//! ClusterResourceSet, ExtensionConfig, IPAddressClaim, and the kinds of the simulated infrastructure.

use super::super::moves::Move::{self, Custom, FailureDomains, Rename, Zero};
use super::super::path::take;
use super::status::CONDITIONS;

/// ClusterResourceSet, ExtensionConfig, and IPAddressClaim.
pub const ONLY_CONDITIONS: &[Move] = &[CONDITIONS];

/// IPAddressClaim in `v1alpha1`, which has no conditions in the newer format.
pub const OLD_CLAIM: &[Move] = &[
    Rename("/status/conditions", "/status/deprecated/v1beta1/conditions"),
    Custom { up: |_| {}, down: |claim| drop(take(claim, "/status/conditions")) },
];

pub const DEV_CLUSTER: &[Move] = &[
    FailureDomains("/spec/backend/docker/failureDomains"),
    FailureDomains("/status/failureDomains"),
    PROVISIONED,
    CONDITIONS,
];

pub const DEV_CLUSTER_TEMPLATE: &[Move] =
    &[FailureDomains("/spec/template/spec/backend/docker/failureDomains")];

pub const DEV_MACHINE: &[Move] = &[PROVISIONED, CONDITIONS];

const PROVISIONED: Move = Move::All(&[
    Rename("/status/ready", "/status/initialization/provisioned"),
    Zero("/status/initialization/provisioned"),
]);
