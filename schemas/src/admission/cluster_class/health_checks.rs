//! Health checks of classes and topologies, and which Clusters rely on those of their class.

use super::workers;
use crate::admission::common::{self, Errors};
use crate::admission::machine_health::health_check;
use crate::cluster::{
    Cluster, ClusterClass, HealthCheckRemediation, HealthChecks, MachineDeploymentHealthCheckRemediation,
    Topology,
};

/// The settings of health checks, wherever they are.
#[derive(Clone, Copy)]
struct Settings<'a> {
    checks: Option<&'a HealthChecks>,
    remediation: Option<Remediation<'a>>,
}

#[derive(Clone, Copy)]
enum Remediation<'a> {
    OfControlPlane(&'a HealthCheckRemediation),
    OfWorkers(&'a MachineDeploymentHealthCheckRemediation),
}

impl Remediation<'_> {
    fn is_defined(self) -> bool {
        match self {
            Self::OfControlPlane(remediation) => *remediation != HealthCheckRemediation::default(),
            Self::OfWorkers(remediation) => {
                *remediation != MachineDeploymentHealthCheckRemediation::default()
            }
        }
    }
}

impl Settings<'_> {
    /// Returns whether anything is set. Health checks that are only enabled are not defined.
    fn is_defined(self) -> bool {
        self.checks.is_some_and(|checks| *checks != HealthChecks::default())
            || self.remediation.is_some_and(Remediation::is_defined)
    }

    fn check(self, field: &str, errors: &mut Errors) {
        let trigger = match self.remediation {
            Some(Remediation::OfControlPlane(remediation)) => remediation.trigger_if.as_ref(),
            Some(Remediation::OfWorkers(remediation)) => {
                let field = format!("{field}.remediation.maxInFlight");
                common::number_or_percentage(&field, remediation.max_in_flight.as_ref(), errors);
                remediation.trigger_if.as_ref()
            }
            None => None,
        };
        health_check(field, self.checks, trigger, errors);
    }
}

/// Returns the settings in a health check of any type.
macro_rules! settings {
    ($check:expr, $of:ident) => {
        $check.as_ref().map_or(Settings { checks: None, remediation: None }, |check| Settings {
            checks: check.checks.as_ref(),
            remediation: check.remediation.as_ref().map(Remediation::$of),
        })
    };
}

/// The rules of a class.
pub fn of_class(class: &ClusterClass, errors: &mut Errors) {
    const FIELD: &str = "spec.controlPlane.healthCheck";
    let control_plane = &class.spec.control_plane;
    let settings = settings!(control_plane.health_check, OfControlPlane);
    if settings.is_defined() {
        settings.check(FIELD, errors);
        if control_plane.machine_infrastructure.is_none() {
            errors.forbidden(
                FIELD,
                "needs spec.controlPlane.machineInfrastructure: without it there are no machines",
            );
        }
    }
    for class in workers::deployments(class) {
        let field = format!("{}.healthCheck", workers::deployment_field(&class.class));
        settings!(class.health_check, OfWorkers).check(&field, errors);
    }
}

/// The rules of a topology.
pub fn of_topology(topology: &Topology, class: &ClusterClass, errors: &mut Errors) {
    const FIELD: &str = "spec.topology.controlPlane.healthCheck";
    let check = topology.control_plane.as_ref().and_then(|part| part.health_check.as_ref());
    let settings = settings!(check, OfControlPlane);
    let of_class = &class.spec.control_plane;
    if settings.is_defined() {
        if of_class.machine_infrastructure.is_none() {
            errors.forbidden(FIELD, "needs spec.controlPlane.machineInfrastructure in the ClusterClass");
        }
        settings.check(FIELD, errors);
    }
    let enabled = check.is_some_and(|check| check.enabled == Some(true));
    if enabled && !settings.is_defined() && !settings!(of_class.health_check, OfControlPlane).is_defined() {
        undefined(FIELD, errors);
    }
    let workers = topology.workers.iter().flat_map(|workers| &workers.machine_deployments);
    for part in workers {
        let field = format!("spec.topology.workers.machineDeployments[{}].healthCheck", part.name);
        let settings = settings!(part.health_check, OfWorkers);
        settings.check(&field, errors);
        let Some(class) = workers::deployments(class).iter().find(|class| class.class == part.class) else {
            continue;
        };
        let enabled = part.health_check.as_ref().is_some_and(|check| check.enabled == Some(true));
        if enabled && !settings.is_defined() && !settings!(class.health_check, OfWorkers).is_defined() {
            undefined(&field, errors);
        }
    }
}

fn undefined(field: &str, errors: &mut Errors) {
    errors.forbidden(
        format_args!("{field}.enabled"),
        "cannot be true: neither the Cluster nor its ClusterClass says what to check",
    );
}

/// Refuses to remove health checks from a class on which Clusters rely: they enable them, and have no settings of their own.
pub fn removed(clusters: &[Cluster], old: &ClusterClass, new: &ClusterClass, errors: &mut Errors) {
    let was =
        |class: &ClusterClass| settings!(class.spec.control_plane.health_check, OfControlPlane).is_defined();
    if was(old) && !was(new) {
        let relies = |topology: &Topology| {
            let check = topology.control_plane.as_ref().and_then(|part| part.health_check.as_ref());
            check.is_some_and(|check| check.enabled == Some(true))
                && !settings!(check, OfControlPlane).is_defined()
        };
        refuse("spec.controlPlane.healthCheck", clusters, relies, errors);
    }
    for class in workers::deployments(new) {
        let before = workers::deployments(old).iter().find(|old| old.class == class.class);
        let Some(before) = before else { continue };
        if !settings!(before.health_check, OfWorkers).is_defined()
            || settings!(class.health_check, OfWorkers).is_defined()
        {
            continue;
        }
        let relies = |topology: &Topology| {
            let mut parts = topology.workers.iter().flat_map(|workers| &workers.machine_deployments);
            parts.any(|part| {
                part.class == class.class
                    && part.health_check.as_ref().is_some_and(|check| check.enabled == Some(true))
                    && !settings!(part.health_check, OfWorkers).is_defined()
            })
        };
        let field = format!("{}.healthCheck", workers::deployment_field(&class.class));
        refuse(&field, clusters, relies, errors);
    }
}

fn refuse(field: &str, clusters: &[Cluster], relies: impl Fn(&Topology) -> bool, errors: &mut Errors) {
    let relying = clusters.iter().filter(|cluster| cluster.spec.topology.as_ref().is_some_and(&relies));
    let names: Vec<String> = relying.map(super::users::shown).collect();
    if !names.is_empty() {
        let names = super::users::some_of(&names);
        errors.forbidden(field, format!("cannot be removed: these Clusters rely on it: {names}"));
    }
}
