//! Parts that several kinds have, at different places.

/// The timeouts for the deletion of a machine: the object that has them in the older version, and in `v1beta2`.
macro_rules! deletion {
    ($older:literal, $newer:literal) => {
        Move::All(&[
            Move::Seconds(
                concat!($older, "/nodeDrainTimeout"),
                concat!($newer, "/deletion/nodeDrainTimeoutSeconds"),
            ),
            Move::Seconds(
                concat!($older, "/nodeVolumeDetachTimeout"),
                concat!($newer, "/deletion/nodeVolumeDetachTimeoutSeconds"),
            ),
            Move::Seconds(
                concat!($older, "/nodeDeletionTimeout"),
                concat!($newer, "/deletion/nodeDeletionTimeoutSeconds"),
            ),
        ])
    };
}

/// When machines are unhealthy and what happens then: the object that says it in the older version, and in `v1beta2`.
macro_rules! health_check {
    ($older:literal, $newer:literal) => {
        Move::All(&[
            Move::Each(
                concat!($older, "/unhealthyConditions"),
                &[Move::Seconds("/timeout", "/timeoutSeconds")],
            ),
            Move::Each(
                concat!($older, "/unhealthyMachineConditions"),
                &[Move::Seconds("/timeout", "/timeoutSeconds")],
            ),
            Move::Rename(
                concat!($older, "/unhealthyConditions"),
                concat!($newer, "/checks/unhealthyNodeConditions"),
            ),
            Move::Rename(
                concat!($older, "/unhealthyMachineConditions"),
                concat!($newer, "/checks/unhealthyMachineConditions"),
            ),
            Move::Seconds(
                concat!($older, "/nodeStartupTimeout"),
                concat!($newer, "/checks/nodeStartupTimeoutSeconds"),
            ),
            Move::Rename(
                concat!($older, "/maxUnhealthy"),
                concat!($newer, "/remediation/triggerIf/unhealthyLessThanOrEqualTo"),
            ),
            Move::Rename(
                concat!($older, "/unhealthyRange"),
                concat!($newer, "/remediation/triggerIf/unhealthyInRange"),
            ),
            Move::Template(
                concat!($older, "/remediationTemplate"),
                concat!($newer, "/remediation/templateRef"),
            ),
        ])
    };
}

/// How machines are replaced: the object that has the strategy, and the place of the remediation in `v1beta2`.
macro_rules! strategy {
    ($object:literal, $remediation:literal) => {
        Move::All(&[
            Move::Rename(
                concat!($object, "/strategy/rollingUpdate/deletePolicy"),
                concat!($object, "/deletion/order"),
            ),
            Move::Rename(
                concat!($object, "/strategy/remediation/maxInFlight"),
                concat!($remediation, "/maxInFlight"),
            ),
            Move::Rename(
                concat!($object, "/strategy/rollingUpdate"),
                concat!($object, "/rollout/strategy/rollingUpdate"),
            ),
            Move::Rename(concat!($object, "/strategy/type"), concat!($object, "/rollout/strategy/type")),
        ])
    };
}

pub(super) use {deletion, health_check, strategy};
