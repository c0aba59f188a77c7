//! The requests that BMCs get while nothing happens.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use engine::Objects;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use machinery::random::Random;
use netboot_tests::redfish::{Behaviour, InMemory, Service, Wire};
use schemas::metal3::BareMetalHost;
use serde_json::json;
use simulation::simulation::{Life, Simulation};

const NAMESPACE: &str = "metal";
const HOSTS: usize = 50;
/// The simulated time until all hosts are known, and the time in which requests are counted.
const MINUTES: u32 = 60;
/// The requests that a host may cost per minute: its power is read once, and its firmware by eight requests in each quarter of an hour.
const EACH: f64 = 1.6;

/// Hosts in use that are on, each with a Redfish service.
async fn hosts(life: &Life, count: usize, behaviour: Behaviour) -> anyhow::Result<Vec<Arc<Service>>> {
    let wire = Wire::default();
    let mut services = Vec::new();
    for number in 0..count {
        let service = Service::new(Arc::new(InMemory::default()), behaviour);
        wire.add(&format!("bmc-{number}"), service.clone(), None);
        services.push(service);
    }
    let dependencies = bmc::Dependencies { network: Arc::new(wire), random: Random::seeded(1) };
    metal::start(&life.manager, metal::bmcs::Bmcs::start(&life.manager, dependencies, Vec::new()));
    let namespaces: Objects<Namespace> = life.manager.objects();
    namespaces.create(&serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?).await?;
    let credentials = json!({"username": "admin", "password": "correct horse"});
    let secret = json!({"metadata": {"name": "bmc", "namespace": NAMESPACE}, "stringData": credentials});
    let secrets: Objects<Secret> = life.manager.objects();
    secrets.create(&serde_json::from_value(secret)?).await?;
    let hosts: Objects<BareMetalHost> = life.manager.objects();
    for number in 0..count {
        let address = format!("redfish+http://bmc-{number}:8000/redfish/v1/Systems/1");
        let spec = json!({
            "online": true, "externallyProvisioned": true,
            "bootMACAddress": format!("52:54:00:00:00:{number:02x}"),
            "bmc": {"address": address, "credentialsName": "bmc"},
        });
        let metadata = json!({"name": format!("host-{number}"), "namespace": NAMESPACE});
        hosts.create(&serde_json::from_value(json!({"metadata": metadata, "spec": spec}))?).await?;
    }
    Ok(services)
}

/// Waits until the hosts are in use and on.
async fn until_known(life: &Life, count: usize) {
    let hosts: Objects<BareMetalHost> = life.manager.objects();
    hosts.wait_until_synced().await;
    let is_known = |host: &BareMetalHost| {
        let status = host.status.as_ref();
        status
            .is_some_and(|status| status.provisioning.state == "externally provisioned" && status.powered_on)
    };
    for minute in 0.. {
        life.clock.sleep(Duration::from_secs(60)).await;
        if hosts.cache().all().iter().filter(|host| is_known(host)).count() == count {
            return;
        }
        assert!(minute < MINUTES, "not all hosts are known");
    }
}

/// BMCs have only few sessions, and refuse further ones, of people too.
#[test]
fn a_bmc_keeps_no_session_that_nobody_uses() {
    Simulation::bare(1)
        .live(async |life, _| {
            let services = hosts(life, 1, Behaviour { sessions_only: true, ..Behaviour::default() }).await?;
            let service = &services[0];
            until_known(life, 1).await;
            assert_eq!(service.sessions(), 1);
            let api = kube::Api::<BareMetalHost>::namespaced(life.manager.client().clone(), NAMESPACE);
            let other = json!({"spec": {"bmc": {"disableCertificateVerification": true}}});
            api.patch("host-0", &Default::default(), &kube::api::Patch::Merge(other)).await?;
            life.clock.sleep(Duration::from_secs(120)).await;
            assert_eq!(service.sessions(), 2, "another client has a session of its own");
            life.clock.sleep(Duration::from_secs(15 * 60)).await;
            assert_eq!(service.sessions(), 1, "that of the former client was closed");
            life.manager.stop().await;
            assert_eq!(service.sessions(), 0);
            Ok(())
        })
        .expect("a life");
}

#[test]
fn idle_hosts_cost_their_bmcs_few_requests() {
    Simulation::bare(1)
        .live(async |life, _| {
            let services = hosts(life, HOSTS, Behaviour::default()).await?;
            until_known(life, HOSTS).await;
            // What follows a registration has ended by then.
            life.clock.sleep(Duration::from_secs(600)).await;
            services.iter().for_each(|service| drop(service.take_requests()));
            life.clock.sleep(Duration::from_secs(60) * MINUTES).await;
            let mut requests: BTreeMap<String, usize> = BTreeMap::new();
            for request in services.iter().flat_map(|service| service.take_requests()) {
                *requests.entry(request).or_default() += 1;
            }
            let all: usize = requests.values().sum();
            let each = all as f64 / f64::from(MINUTES) / HOSTS as f64;
            writeln!(std::io::stderr(), "requests to a BMC per minute: {each:.2}, {requests:#?}")?;
            assert!(requests.keys().all(|request| request.starts_with("GET ")), "{requests:#?}");
            assert!(each > 0.0 && each <= EACH, "{each} requests per minute: {requests:#?}");
            Ok(())
        })
        .expect("a life");
}
