//! The plan of a Metal3Remediation. Pure.

use chrono::{DateTime, TimeDelta, Utc};
use engine::object::{is_deleting, uid};
use engine::{Action, conditions, finalizer};
use k8s_openapi::api::core::v1::{Node, Taint};
use machinery::clock::{parse_rfc3339, rfc3339};
use metal::names::REBOOT;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::infrastructure::{Metal3Remediation, Metal3RemediationStatus};
use schemas::metal3::BareMetalHost;

use super::observed::Observed;
use crate::limits::{DRAIN_POLL, REMEDIATION_RETRIES, REMEDIATION_TIMEOUT};
use crate::names::{REMEDIATION_FINALIZER, UNHEALTHY};

/// Phase: the host is being rebooted.
pub const RUNNING: &str = "Running";
/// Phase: the machine was rebooted, and the Node is waited for.
pub const WAITING: &str = "Waiting";
/// Phase: the owner of the machine is to replace it.
pub const DELETING_MACHINE: &str = "Deleting machine";
/// Phase: there is nothing that could be rebooted.
pub const FAILED: &str = "Failed";
/// The value of the annotation on a host that was given up.
pub const UNHEALTHY_NODE: &str = "capm3/UnhealthyNode";
/// The taint that lets Kubernetes delete the Pods of a Node that is known to be off.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The wanted states. Those that are equal to the observed ones are not written.
pub struct Plan {
    /// The Metal3Remediation.
    pub remediation: Metal3Remediation,
    /// The host.
    pub host: Option<BareMetalHost>,
    /// The Node.
    pub node: Option<Node>,
    /// The Machine, whose owner is asked to replace it.
    pub machine: Option<Machine>,
    /// When to reconcile again.
    pub action: Action,
}

/// Returns whether the Node has the taint of a Node that is off.
pub fn is_out_of_service(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == OUT_OF_SERVICE))
}

/// Makes the plan.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut plan = Plan {
        remediation: observed.remediation.as_ref().clone(),
        host: observed.host.as_deref().cloned(),
        node: observed.node.as_deref().cloned(),
        machine: None,
        action: Action::done(),
    };
    if is_deleting(observed.remediation.as_ref()) {
        plan.release_power(uid(observed.remediation.as_ref()));
        plan.set_out_of_service(false);
        finalizer::remove(&mut plan.remediation, REMEDIATION_FINALIZER);
        return plan;
    }
    match plan.status().phase.clone().unwrap_or_default().as_str() {
        "" => plan.begin(now),
        RUNNING => plan.power_off(observed),
        WAITING => plan.wait(observed, now),
        DELETING_MACHINE => plan.give_up(observed, now),
        _ => {}
    }
    plan
}

impl Plan {
    fn status(&mut self) -> &mut Metal3RemediationStatus {
        self.remediation.status.get_or_insert_default()
    }

    fn enter(&mut self, phase: &str) {
        self.status().phase = Some(phase.to_owned());
    }

    /// Begins an attempt. Its time limit counts from now on.
    fn begin(&mut self, now: DateTime<Utc>) {
        // A host that somebody switched off is not rebooted.
        let is_online = self.host.as_ref().is_some_and(|host| host.spec.online);
        let kind = self.remediation.spec.strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
        if !is_online || kind.is_some_and(|kind| kind != "Reboot") {
            return self.enter(FAILED);
        }
        self.status().last_remediated = Some(rfc3339(now));
        self.enter(RUNNING);
    }

    /// Switches the host off, and takes its Node out of service, so that its Pods start elsewhere.
    fn power_off(&mut self, observed: &Observed) {
        let key = reboot_key(uid(observed.remediation.as_ref()));
        if let Some(host) = &mut self.host {
            let annotations = host.metadata.annotations.get_or_insert_default();
            annotations.insert(key, r#"{"mode":"hard","force":false}"#.to_owned());
        }
        if is_on(observed) {
            return;
        }
        self.set_out_of_service(true);
        let was_out_of_service = observed.node.as_ref().is_none_or(|node| is_out_of_service(node));
        match was_out_of_service && !observed.is_draining {
            true => self.enter(WAITING),
            // No event reports the Pods of another cluster.
            false => self.action = Action::requeue_after(DRAIN_POLL),
        }
    }

    /// Switches the host on, and waits for the machine to become healthy: then its health check deletes the remediation.
    fn wait(&mut self, observed: &Observed, now: DateTime<Utc>) {
        self.release_power(uid(observed.remediation.as_ref()));
        if is_on(observed) {
            self.set_out_of_service(false);
        }
        let strategy = self.remediation.spec.strategy.clone().unwrap_or_default();
        let timeout = strategy
            .timeout_seconds
            .map_or(REMEDIATION_TIMEOUT, |seconds| TimeDelta::seconds(seconds.into()));
        let began = self.status().last_remediated.as_deref().and_then(parse_rfc3339).unwrap_or(now);
        if let Ok(left) = (began + timeout - now).to_std()
            && !left.is_zero()
        {
            self.action = Action::requeue_after(left);
            return;
        }
        let retries = self.status().retry_count.unwrap_or_default();
        if retries < strategy.retry_limit.unwrap_or(REMEDIATION_RETRIES) {
            self.status().retry_count = Some(retries + 1);
            self.begin(now);
        } else {
            self.enter(DELETING_MACHINE);
            self.give_up(observed, now);
        }
    }

    /// Asks the Machine's owner to replace it. The host is not chosen again before somebody has looked at it.
    fn give_up(&mut self, observed: &Observed, now: DateTime<Utc>) {
        if let Some(host) = &mut self.host {
            let annotations = host.metadata.annotations.get_or_insert_default();
            annotations.entry(UNHEALTHY.to_owned()).or_insert_with(|| UNHEALTHY_NODE.to_owned());
        }
        // Once it is asked, the owner says in this condition what it does.
        let is_asked =
            |machine: &Machine| conditions::has(machine.conditions(), "OwnerRemediated", conditions::FALSE);
        if let Some(machine) = observed.machine.as_ref().filter(|machine| !is_asked(machine)) {
            let mut wanted = machine.as_ref().clone();
            let message = "rebooting the host did not help";
            conditions::set(
                &mut wanted,
                now,
                conditions::is_false("OwnerRemediated", "WaitingForRemediation", message),
            );
            self.machine = Some(wanted);
        }
    }

    fn release_power(&mut self, uid: &str) {
        if let Some(annotations) = self.host.as_mut().and_then(|host| host.metadata.annotations.as_mut()) {
            annotations.remove(&reboot_key(uid));
        }
    }

    fn set_out_of_service(&mut self, is_off: bool) {
        let Some(node) = &mut self.node else { return };
        if is_off == is_out_of_service(node) {
            return;
        }
        let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
        taints.retain(|taint| taint.key != OUT_OF_SERVICE);
        if is_off {
            taints.push(Taint {
                key: OUT_OF_SERVICE.to_owned(),
                value: Some("nodeshutdown".to_owned()),
                effect: "NoExecute".to_owned(),
                ..Taint::default()
            });
        }
    }
}

/// Returns the annotation with which a remediation keeps its host off.
pub fn reboot_key(uid: &str) -> String {
    format!("{REBOOT}/metal3-remediation-{uid}")
}

fn is_on(observed: &Observed) -> bool {
    let status = observed.host.as_ref().and_then(|host| host.status.as_ref());
    status.is_some_and(|status| status.powered_on)
}
