//! The Metal3Remediation controller: reboots the host of an unhealthy machine, and gives the machine up if that does not help
//! (`contract/metal3`, §2.6).
//!
//! The kind has no conditions, so it does not use the frame `engine::planned`.

mod apply;
mod observe;
pub mod observed;
pub mod plan;

use engine::controller::requests_of;
use engine::{
    Action, Controller, Descriptor, GroupKind, Manager, Reconciler, Request, Result, finalizer, paused,
};
use schemas::infrastructure::Metal3Remediation;

use crate::names::REMEDIATION_FINALIZER;
use observe::RemediationController;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "metal3remediation",
    reconciles: &[GroupKind::new(Metal3Remediation::GROUP, Metal3Remediation::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let controller = RemediationController {
        remediations: manager.objects(),
        machines: manager.objects(),
        metal3_machines: manager.objects(),
        clusters: manager.objects(),
        hosts: manager.objects(),
        manager: manager.clone(),
    };
    let all = controller.remediations.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&controller.remediations.clone())
        .watches(&controller.hosts.clone(), move |change| {
            // There are few remediations at a time.
            let beside = all.in_namespace(&change.name().namespace);
            requests_of(&beside)
        })
        .reads(&controller.machines.clone())
        .reads(&controller.metal3_machines.clone())
        .reads(&controller.clusters.clone())
        .start(controller);
}

impl Reconciler for RemediationController {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(remediation) = self.remediations.get(&request) else { return Ok(Action::done()) };
        let observed = self.read(remediation).await;
        if !paused::causes(observed.remediation.as_ref(), observed.cluster.as_deref()).is_empty() {
            return Ok(Action::done());
        }
        // The finalizer comes before the first change of the host, which its removal reverts.
        let stored =
            finalizer::ensure(&self.remediations, &observed.remediation, REMEDIATION_FINALIZER).await?;
        let observed = observed::Observed { remediation: stored, ..observed };
        let plan = plan::plan(&observed, self.manager.clock().now());
        self.execute(&observed, plan).await
    }
}
