//! A machine on bare metal that a health check finds sick: its host is rebooted, then given up, and the next machine gets another one.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use engine::object::{annotation, is_deleting, label};
use engine::{Manager, NamespacedName, Objects};
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::infrastructure::Metal3Remediation;
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};
use simulation::fleet::{Faults, Machines, NAMESPACE, cluster, mac};
use simulation::simulation::{Life, Simulation};

use crate::metal_clusters::{ADDRESS, DEADLINE, FIRST_PORT, Site, are_available, create, prepare_hosts};

const HOSTS: usize = 3;
const TEMPLATE: &str = "reboot";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
/// Keeps a Machine that is being deleted.
const HOOK: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io/test";
/// Reboots before the host is given up: the first one, and one retry.
const REBOOTS: u64 = 2;
/// What a host that was given up is marked with.
const UNHEALTHY: &str = "capm3.metal3.io/unhealthy";

/// The number of the host with this name.
fn number_of(host: &str) -> usize {
    (0..HOSTS).find(|number| simulation::fleet::name(*number) == host).expect("a host of the fleet")
}

fn worker(manager: &Manager) -> Option<Arc<Machine>> {
    let is_worker = |machine: &Arc<Machine>| label(machine.as_ref(), engine::names::CONTROL_PLANE).is_none();
    manager.objects::<Machine>().all().into_iter().find(is_worker)
}

/// The name of the host that a Machine uses.
fn host_of(manager: &Manager, machine: &Machine) -> Option<String> {
    let consumer = Some(machine.spec.infrastructure_ref.name.as_str());
    let uses = |host: &&Arc<BareMetalHost>| {
        host.spec.consumer_ref.as_ref().and_then(|reference| reference.name.as_deref()) == consumer
    };
    manager.objects::<BareMetalHost>().all().iter().find(uses)?.metadata.name.clone()
}

/// Whether the owner of the worker has begun to replace it.
fn is_given_up(manager: &Manager) -> bool {
    worker(manager).is_some_and(|machine| {
        let asked = machine.condition("OwnerRemediated");
        is_deleting(machine.as_ref()) && asked.is_some_and(|asked| asked.reason == "MachineDeleting")
    })
}

/// Creates a health check, and has it find the worker unhealthy. The hook keeps the worker while the test looks at its host.
async fn remediate(life: &Life) -> Result<()> {
    let strategy = json!({"strategy": {"type": "Reboot", "retryLimit": REBOOTS - 1, "timeoutSeconds": 300}});
    let template = json!({
        "apiVersion": INFRASTRUCTURE, "kind": "Metal3RemediationTemplate",
        "metadata": {"name": TEMPLATE, "namespace": NAMESPACE}, "spec": {"template": {"spec": strategy}},
    });
    let reference =
        json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3RemediationTemplate", "name": TEMPLATE});
    let check = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
        "metadata": {"name": "workers", "namespace": NAMESPACE},
        "spec": {
            "clusterName": "cluster-0", "remediation": {"templateRef": reference},
            "selector": {"matchLabels": {"cluster.x-k8s.io/deployment-name": "cluster-0-md"}},
        },
    });
    create(life, [template, check]).await?;
    annotate(life, json!({"cluster.x-k8s.io/remediate-machine": "", HOOK: ""})).await
}

async fn annotate(life: &Life, annotations: Value) -> Result<()> {
    let machine = worker(&life.manager).context("a worker")?;
    let machines: Objects<Machine> = life.manager.objects();
    let patch = json!({"metadata": {"annotations": annotations}});
    machines.merge(&NamespacedName::of(machine.as_ref()), None, patch).await?;
    Ok(())
}

#[test]
fn a_sick_machine_is_rebooted_and_then_replaced() -> Result<()> {
    let machines = Machines::new(1, Faults { bmc: 0, hang: 0, instruction: 0 });
    let site = Site { machines, hosts: HOSTS, life: DEADLINE, witness: Default::default() };
    let mut simulation = Simulation::new(1);
    let prepare = async |life: &Life| {
        prepare_hosts(life, HOSTS).await?;
        create(life, cluster(0, 1, 1, (ADDRESS, FIRST_PORT))).await
    };
    site.until(&mut simulation, "available", prepare, |manager| are_available(manager, 1, 2))?;
    let seen = std::cell::RefCell::new((String::new(), 0));
    let begin = async |life: &Life| {
        life.manager.objects::<BareMetalHost>().wait_until_synced().await;
        let machine = worker(&life.manager).context("a worker")?;
        let host = host_of(&life.manager, &machine).context("the host of the worker")?;
        let starts = site.machines.with(&mac(number_of(&host)), |machine| machine.starts);
        *seen.borrow_mut() = (host, starts);
        remediate(life).await
    };
    site.until(&mut simulation, "given up", begin, is_given_up)?;
    let (sick, before) = seen.into_inner();
    let host = site.machines.with(&mac(number_of(&sick)), |machine| machine.clone());
    ensure!(host.starts - before == REBOOTS, "{sick} was switched on {} times", host.starts - before);
    ensure!(host.written == 1 && host.is_on, "{sick} was only rebooted: {host:?}");

    let release = async |life: &Life| annotate(life, json!({HOOK: null})).await;
    let is_replaced = |manager: &Manager| {
        let hosts = manager.objects::<BareMetalHost>();
        let old = hosts.get(&NamespacedName::new(NAMESPACE, sick.as_str())).expect("the sick host");
        let is_free = old.spec.consumer_ref.is_none()
            && old.status.as_ref().is_some_and(|status| status.provisioning.state == "available");
        let remediations = manager.objects::<Metal3Remediation>().all();
        are_available(manager, 1, 2)
            && is_free
            && annotation(old.as_ref(), UNHEALTHY).is_some()
            && remediations.is_empty()
    };
    site.until(&mut simulation, "replaced", release, is_replaced)?;
    let host = site.machines.with(&mac(number_of(&sick)), |machine| machine.clone());
    ensure!(host.disk.is_none(), "the host that was given up is cleaned");
    Ok(())
}
