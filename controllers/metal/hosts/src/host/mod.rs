//! The controller of BareMetalHost: observe, plan, apply.
//!
//! It does not use the frame `engine::planned`, because what that frame does for all kinds follows Metal3's rules here: a host has no
//! Cluster, its own annotation pauses it without a condition, only a host with an inspected machine keeps a finalizer, and a failure is
//! in the status with a time before which it is not tried again.

pub mod annotations;
mod apply;
mod boot_image;
mod companions;
pub mod conditions;
mod draft;
mod drive;
mod execute;
mod intake;
pub mod memory;
pub mod observe;
pub mod observed;
pub mod plan;
mod power;
mod protection;
mod spec;
mod states;

use std::sync::Arc;

use engine::events::Recorder;
use engine::{Action, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result};
use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::{BareMetalHost, HardwareData};
use schemas::netboot::Agent;

use crate::control::Control;
use crate::{limits, names};
use boot_image::BootImages;
use companions::Companions;
use memory::Memory;

/// Index of agents by their host, `namespace/name`.
pub const BY_HOST: &str = "metal-host";

/// Adds the index [`BY_HOST`].
pub fn index_agents(agents: &Objects<Agent>) {
    agents.index(BY_HOST, |agent| host_of(agent).iter().map(ToString::to_string).collect());
}

/// Returns the host of an agent's machine.
pub fn host_of(agent: &Agent) -> Option<NamespacedName> {
    let host = agent.spec.host_ref.as_ref()?;
    Some(NamespacedName::new(host.namespace.clone(), host.name.clone()))
}

/// Starts the controller.
pub fn start(manager: &Manager, control: Arc<dyn Control>) {
    let reconciler = HostReconciler {
        hosts: manager.objects(),
        agents: manager.objects(),
        secrets: manager.objects(),
        hardware: manager.objects(),
        companions: Companions::new(manager),
        boot_images: BootImages::new(manager),
        control,
        recorder: manager.recorder(names::COMPONENT),
        memory: Memory::default(),
        manager: manager.clone(),
    };
    index_agents(&reconciler.agents);
    let by_secret = reconciler.hosts.clone();
    let controller = Controller::new(manager, "baremetalhost")
        .time_limit(limits::RECONCILE)
        .reconciles(&reconciler.hosts.clone())
        .without_resync()
        .watches(&reconciler.agents.clone(), |change| {
            change.objects().filter_map(|agent| host_of(agent)).collect()
        })
        .watches(&reconciler.secrets.clone(), move |change| {
            let secret = change.name();
            let all = by_secret.in_namespace(&secret.namespace);
            all.iter()
                .filter(|host| names_secret(host, &secret.name))
                .map(|host| NamespacedName::of(host.as_ref()))
                .collect()
        })
        .reads(&reconciler.hardware.clone())
        .concurrency(32);
    let controller = reconciler.companions.watched(controller);
    reconciler.boot_images.watched(controller).start(reconciler);
}

/// Returns whether the host uses the Secret for its BMC or its configuration drive.
fn names_secret(host: &BareMetalHost, name: &str) -> bool {
    let spec = &host.spec;
    let data = [&spec.user_data, &spec.meta_data, &spec.network_data];
    spec.bmc.as_ref().is_some_and(|bmc| bmc.credentials_name == name)
        || data.into_iter().flatten().any(|reference| reference.name.as_deref() == Some(name))
}

/// The reconciler of BareMetalHost.
pub(crate) struct HostReconciler {
    hosts: Objects<BareMetalHost>,
    agents: Objects<Agent>,
    secrets: Objects<Secret>,
    hardware: Objects<HardwareData>,
    companions: Companions,
    boot_images: BootImages,
    control: Arc<dyn Control>,
    recorder: Recorder,
    memory: Memory,
    manager: Manager,
}

impl Reconciler for HostReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(host) = self.hosts.get(&request) else {
            self.memory.forget(&request);
            return Ok(Action::done());
        };
        self.memory.meet(&request, engine::object::uid(host.as_ref()));
        let gathered = self.gather(&host);
        // A failure is retried only after its back-off, unless its inputs have changed.
        let now = self.manager.clock().now();
        if let Some(wait) = self.memory.wait(&request, gathered.fingerprint, now) {
            return Ok(Action::requeue_after(wait));
        }
        let observed = self.observe(&host, &gathered).await;
        let plan = plan::plan(&observed);
        self.apply(&host, gathered, plan).await
    }
}
