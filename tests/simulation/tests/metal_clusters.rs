//! Clusters on the hosts of a fleet, with faults and kills of the server: no host is claimed twice, none is lost, and none is cleaned
//! that was not given up.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test, which says what it saw and ends where something is not as it must be"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::DynamicObject;
use parking_lot::Mutex;
use schemas::cluster::{Cluster, Machine, MachineDeployment};
use schemas::controlplane::KubeadmControlPlane;
use schemas::infrastructure::Metal3Machine;
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};
use simulation::fleet::{Faults, Guests, Machines, NAMESPACE, cluster, free_host, mac, serve};
use simulation::simulation::{Life, Simulation};

/// Simulated time limit of each step.
pub(crate) const DEADLINE: Duration = Duration::from_secs(48 * 3600);
/// The address of all workload clusters, which differ in their ports.
pub(crate) const ADDRESS: &str = "127.0.0.1";
pub(crate) const FIRST_PORT: u16 = 20_000;

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

/// What was seen of the hosts over all lives.
#[derive(Default)]
pub(crate) struct Witness {
    /// The consumer of each host, and the number of images that were written to it when it was first seen as provisioned for it.
    consumers: BTreeMap<String, (String, Option<usize>)>,
    wrong: Vec<String>,
}

impl Witness {
    fn see(&mut self, host: &BareMetalHost, machines: &Machines) {
        let name = host.metadata.name.clone().unwrap_or_default();
        let consumer = host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.clone());
        let before = self.consumers.get(&name).cloned();
        let Some(consumer) = consumer else {
            self.consumers.remove(&name);
            return;
        };
        if let Some((other, _)) = before.as_ref().filter(|(other, _)| *other != consumer) {
            self.wrong.push(format!("{name} went from {other} to {consumer} without being released"));
        }
        if let Some((other, _)) =
            self.consumers.iter().find(|(other, (used, _))| **other != name && *used == consumer)
        {
            self.wrong.push(format!("{consumer} has {other} and {name}"));
        }
        let written = machines.with(&mac_of(host), |machine| machine.written);
        let is_provisioned =
            host.status.as_ref().is_some_and(|status| status.provisioning.state == "provisioned");
        let first = before.and_then(|(_, first)| first).or_else(|| is_provisioned.then_some(written));
        if first.is_some_and(|first| first != written) && host.spec.image.is_some() {
            self.wrong.push(format!("{name} was written again although {consumer} had not given it up"));
        }
        self.consumers.insert(name, (consumer, first));
    }
}

fn mac_of(host: &BareMetalHost) -> String {
    host.spec.boot_mac_address.clone().unwrap_or_default()
}

/// A fleet with its clusters.
pub(crate) struct Site {
    pub machines: Machines,
    pub hosts: usize,
    pub life: Duration,
    pub witness: Arc<Mutex<Witness>>,
}

impl Site {
    /// Runs lives of the server, each killed after `life`, until `done` returns true.
    pub(crate) fn until(
        &self,
        simulation: &mut Simulation,
        what: &str,
        prepare: impl AsyncFnOnce(&Life) -> Result<()>,
        done: impl Fn(&Manager) -> bool,
    ) -> Result<()> {
        let end = simulation.now() + chrono::Duration::from_std(DEADLINE)?;
        let mut prepare = Some(prepare);
        while simulation.now() < end {
            let limit = self.life.min((end - simulation.now()).to_std()?);
            let is_last = simulation.now() + chrono::Duration::from_std(limit)? >= end;
            let is_done = simulation.live(async |life, _| {
                self.start(life).await;
                if let Some(prepare) = prepare.take() {
                    prepare(life).await?;
                }
                let finished = async {
                    while !done(&life.manager) {
                        life.clock.sleep(Duration::from_secs(5)).await;
                    }
                };
                let guests = Guests::new(&life.manager, ADDRESS);
                tokio::select! {
                    ended = serve(&life.manager, &self.machines, self.hosts) => ended.map(|()| false),
                    ended = guests.serve(&self.machines) => ended.map(|()| false),
                    () = finished => Ok(true),
                    () = life.clock.sleep(limit) => {
                        if is_last {
                            show(&life.manager);
                        }
                        Ok(false)
                    }
                }
            })?;
            let wrong = self.witness.lock().wrong.join("\n");
            ensure!(wrong.is_empty(), "{wrong}");
            if is_done {
                println!("{what}: {}, {} lives", simulation.now(), simulation.lives());
                return Ok(());
            }
        }
        bail!("{what}: not within {DEADLINE:?} of simulated time")
    }

    async fn start(&self, life: &Life) {
        metal::start(&life.manager, Arc::new(self.machines.clone()));
        metal_machines::PROVIDERS.iter().for_each(|provider| provider.start(&life.manager, &()));
        let hosts: Objects<BareMetalHost> = life.manager.objects();
        let (witness, machines) = (self.witness.clone(), self.machines.clone());
        hosts.subscribe(move |change| {
            if let Some(host) = &change.new {
                witness.lock().see(host, &machines);
            }
        });
        hosts.wait_until_synced().await;
        life.manager.objects::<Cluster>().wait_until_synced().await;
        life.manager.objects::<Machine>().wait_until_synced().await;
    }
}

/// Prints what is not complete.
fn show(manager: &Manager) {
    for machine in manager.objects::<Metal3Machine>().all() {
        let conditions = machine.status.iter().flat_map(|status| &status.conditions);
        let wrong: Vec<String> = conditions
            .filter(|condition| condition.status != "True" && condition.type_ != "Paused")
            .map(|condition| format!("{} {}: {}", condition.type_, condition.reason, condition.message))
            .collect();
        if !wrong.is_empty() {
            println!("{:?}: {}", machine.metadata.name, wrong.join("; "));
        }
    }
    for cluster in manager.objects::<Cluster>().all() {
        let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
        for condition in
            conditions.filter(|condition| condition.type_ == "Available" && condition.status != "True")
        {
            println!("{:?}: {}", cluster.metadata.name, condition.message);
        }
    }
    for host in manager.objects::<BareMetalHost>().all().iter().take(12) {
        let status = host.status.clone().unwrap_or_default();
        println!("{:?}: {} {:?}", host.metadata.name, status.provisioning.state, status.error_message);
    }
}

pub(crate) async fn create(life: &Life, objects: impl IntoIterator<Item = Value>) -> Result<()> {
    for value in objects {
        let (group, version) =
            value["apiVersion"].as_str().and_then(|text| text.split_once('/')).unwrap_or(("", "v1"));
        let kind = value["kind"].as_str().unwrap_or_default();
        let resource = kube::core::ApiResource {
            group: group.into(),
            version: version.into(),
            api_version: value["apiVersion"].as_str().unwrap_or_default().into(),
            kind: kind.into(),
            plural: engine::contract::plural(kind),
        };
        let objects = life.manager.dynamic(&resource);
        let object: DynamicObject = serde_json::from_value(value)?;
        objects.create(&object).await?;
    }
    Ok(())
}

/// Creates the namespace, and hosts in it.
pub(crate) async fn prepare_hosts(life: &Life, hosts: usize) -> Result<()> {
    let namespaces: Objects<Namespace> = life.manager.objects();
    namespaces.create(&serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?).await?;
    let secrets: Objects<Secret> = life.manager.objects();
    for number in 0..hosts {
        let [secret, host] = free_host(number);
        secrets.create(&serde_json::from_value(secret)?).await?;
        create(life, [host]).await?;
    }
    Ok(())
}

/// Returns whether `count` Clusters are available with all their Machines.
pub(crate) fn are_available(manager: &Manager, count: usize, machines: usize) -> bool {
    let clusters = manager.objects::<Cluster>().all();
    let is_available = |cluster: &&Arc<Cluster>| {
        let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.type_ == "Available" && condition.status == "True")
    };
    let all = manager.objects::<Machine>().all();
    let has_node =
        |machine: &&Arc<Machine>| machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    clusters.len() == count
        && clusters.iter().filter(is_available).count() == count
        && all.len() == machines
        && all.iter().filter(has_node).count() == machines
}

/// Returns the hosts that a machine uses.
fn used(manager: &Manager) -> BTreeSet<String> {
    let hosts = manager.objects::<BareMetalHost>().all();
    let used = hosts.iter().filter(|host| host.spec.consumer_ref.is_some());
    used.filter_map(|host| host.metadata.name.clone()).collect()
}

/// The number of control plane machines and of workers of a cluster.
fn size(number: usize) -> (usize, usize) {
    (if number.is_multiple_of(4) { 3 } else { 1 }, 2 + number % 5)
}

fn run(seed: u64, hosts: usize, clusters: usize, life: Duration, faults: Faults) -> Result<()> {
    let witness = Arc::<Mutex<Witness>>::default();
    let site = Site { machines: Machines::new(seed, faults), hosts, life, witness };
    let mut simulation = Simulation::new(seed);
    let total: usize = (0..clusters).map(|number| size(number).0 + size(number).1).sum();
    let prepare = async |life: &Life| {
        prepare_hosts(life, hosts).await?;
        for number in 0..clusters {
            let (control_plane, workers) = size(number);
            let port = FIRST_PORT + u16::try_from(number)?;
            create(life, cluster(number, control_plane, workers, (ADDRESS, port))).await?;
        }
        Ok(())
    };
    site.until(&mut simulation, "available", prepare, |manager| are_available(manager, clusters, total))?;
    let written: Vec<usize> =
        (0..hosts).map(|host| site.machines.with(&mac(host), |machine| machine.written)).collect();

    // Every second cluster is deleted. Its hosts are cleaned, and the hosts of the others are not touched.
    let kept = Mutex::new(BTreeSet::new());
    let delete = async |life: &Life| {
        let all: Objects<Cluster> = life.manager.objects();
        for number in (0..clusters).step_by(2) {
            let key = NamespacedName::new(NAMESPACE, format!("cluster-{number}"));
            all.delete(all.get(&key).expect("a cluster").as_ref()).await?;
        }
        let of_kept = |machine: &Arc<Metal3Machine>| {
            let cluster =
                engine::object::label(machine.as_ref(), engine::names::CLUSTER_NAME).unwrap_or_default();
            let number = cluster.trim_start_matches("cluster-").parse::<usize>();
            number.is_ok_and(|number| !number.is_multiple_of(2))
        };
        let machines = life.manager.objects::<Metal3Machine>().all();
        let hosts = machines.iter().filter(|machine| of_kept(machine)).filter_map(|machine| {
            engine::object::annotation(machine.as_ref(), "metal3.io/BareMetalHost").map(str::to_owned)
        });
        kept.lock().extend(hosts.filter_map(|host| host.split_once('/').map(|(_, name)| name.to_owned())));
        Ok(())
    };
    let left: usize =
        (0..clusters).filter(|number| number % 2 == 1).map(|number| size(number).0 + size(number).1).sum();
    site.until(&mut simulation, "deleted", delete, |manager| {
        manager.objects::<Cluster>().all().len() == clusters / 2
            && manager.objects::<Metal3Machine>().all().len() == left
            && used(manager) == *kept.lock()
    })?;
    for (host, written) in written.into_iter().enumerate() {
        let now = site.machines.with(&mac(host), |machine| machine.clone());
        if kept.lock().contains(&simulation::fleet::name(host)) {
            assert_eq!((now.is_on, now.written, now.disk.is_some()), (true, written, true), "host {host}");
        } else {
            assert!(now.disk.is_none(), "host {host} was released and not cleaned");
        }
    }
    Ok(())
}

/// The version of an upgrade.
const NEXT: &str = "v1.36.1";

/// Upgrades the control plane and both workers of a cluster, which share one spare host.
fn upgrade(seed: u64, life: Duration, faults: Faults) -> Result<()> {
    const HOSTS: usize = 4;
    let witness = Arc::<Mutex<Witness>>::default();
    let site = Site { machines: Machines::new(seed, faults), hosts: HOSTS, life, witness };
    let mut simulation = Simulation::new(seed);
    let prepare = async |life: &Life| {
        prepare_hosts(life, HOSTS).await?;
        create(life, cluster(0, 1, 2, (ADDRESS, FIRST_PORT))).await
    };
    site.until(&mut simulation, "available", prepare, |manager| are_available(manager, 1, 3))?;
    let change = async |life: &Life| {
        let control_planes: Objects<KubeadmControlPlane> = life.manager.objects();
        let deployments: Objects<MachineDeployment> = life.manager.objects();
        control_planes.wait_until_synced().await;
        deployments.wait_until_synced().await;
        let plane = NamespacedName::new(NAMESPACE, "cluster-0-plane");
        control_planes.merge(&plane, None, json!({"spec": {"version": NEXT}})).await?;
        let workers = NamespacedName::new(NAMESPACE, "cluster-0-md");
        let version = json!({"spec": {"template": {"spec": {"version": NEXT}}}});
        deployments.merge(&workers, None, version).await?;
        Ok(())
    };
    site.until(&mut simulation, "upgraded", change, |manager| {
        let all = manager.objects::<Machine>().all();
        let is_new = |machine: &Arc<Machine>| machine.spec.version.as_deref() == Some(NEXT);
        are_available(manager, 1, 3) && all.iter().all(is_new) && used(manager).len() == 3
    })?;
    let disks = (0..HOSTS).map(|host| site.machines.with(&mac(host), |machine| machine.disk.is_some()));
    ensure!(disks.filter(|has_image| *has_image).count() == 3, "the host that was released is cleaned");
    let written: usize =
        (0..HOSTS).map(|host| site.machines.with(&mac(host), |machine| machine.written)).sum();
    ensure!(written == 6, "each of six machines was written once, and not {written} times");
    Ok(())
}

#[test]
fn an_upgrade_needs_one_spare_host() {
    let seed = number("SIMULATE_FROM", 1) as u64;
    let faults = Faults { bmc: 0, hang: 0, instruction: 0 };
    upgrade(seed, DEADLINE, faults).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
}

#[test]
fn clusters_come_and_go_whatever_fails() {
    let (hosts, clusters) = (number("CLUSTERS_HOSTS", 40), number("CLUSTERS", 4));
    let seed = number("SIMULATE_FROM", 1) as u64;
    let faults = Faults { bmc: 50, hang: 25, instruction: 25 };
    run(seed, hosts, clusters, Duration::from_secs(25 * 60), faults)
        .unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
}

#[test]
fn clusters_come_and_go_without_a_restart() {
    let seed = number("SIMULATE_FROM", 1) as u64;
    let faults = Faults { bmc: 0, hang: 0, instruction: 0 };
    run(seed, 14, 2, DEADLINE, faults).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
}
