//! The services against an API server in this process, on a paused clock: what they write down, and what they tell whom.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use access::User;
use agent::protocol::{Action, Enrolment, Progress, Report, State};
use bytes::Bytes;
use engine::network::SimulatedNetwork;
use engine::{Kind, Manager, NamespacedName, Objects, Options};
use http_body_util::{BodyExt, Empty};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, PostParams};
use machinery::clock::Clock;
use machinery::random::Random;
use netboot::MacAddress;
use netboot::agents::{Agents, Refusal};
use netboot::boot_files::BootFiles;
use netboot::client::Processor;
use netboot::dhcp4::server::Addresses;
use netboot::directory::Kube;
use netboot::http::site::{Peer, Site};
use netboot::machine::{Boot, Directory, Lease};
use netboot::metadata::Metadata;
use registry::Registry;
use schemas::metal3::BareMetalHost;
use schemas::netboot::{Agent, DHCPLease};
use serde_json::{Value, json};
use serving::Server;
use store::{Memory, Store};

const MAC: MacAddress = MacAddress([0x52, 0x54, 0, 0, 0, 1]);
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

async fn manager() -> Manager {
    let epoch = machinery::clock::parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
    let (clock, random) = (Clock::simulated(epoch), Random::seeded(1));
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let options = registry::Options::default();
    let registry = Registry::open(store, clock.clone(), random.clone(), options).await.unwrap();
    let server = Server::builder(registry, clock.clone()).build();
    let client = kube::Client::new(server.client_service(User::master("test")), "default");
    let network = Arc::new(SimulatedNetwork::new());
    let manager = Manager::new(Options { client, clock, random, network });
    let resource = kube::core::ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        api_version: "apiextensions.k8s.io/v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
    };
    let definitions = kube::Api::<DynamicObject>::all_with(manager.client().clone(), &resource);
    for manifest in schemas::crds().unwrap() {
        let object = serde_json::from_value(manifest).unwrap();
        definitions.create(&PostParams::default(), &object).await.unwrap();
    }
    manager
}

async fn create<K: Kind>(objects: &Objects<K>, value: Value) -> Arc<K> {
    objects.create(&serde_json::from_value(value).unwrap()).await.unwrap()
}

fn lease(manager: &Manager) -> Lease {
    Lease {
        mac: MAC,
        address: ADDRESS,
        expires: manager.clock().now() + chrono::Duration::hours(1),
        host_name: Some("node-1".into()),
        interface: "eth0".into(),
        relay: None,
        architecture: Some("uefi-x86_64".into()),
        vendor_class: None,
    }
}

fn enrolment(boot: &str) -> Enrolment {
    Enrolment {
        boot_mac_address: MAC.to_string(),
        mac_addresses: vec![MAC.to_string()],
        boot_id: boot.into(),
        ..Enrolment::default()
    }
}

async fn host(manager: &Manager, state: &str) -> (Objects<BareMetalHost>, NamespacedName) {
    let secrets: Objects<Secret> = manager.objects();
    create(&secrets, json!({
        "metadata": { "name": "user", "namespace": "default" }, "data": { "userData": "I2Nsb3VkLWNvbmZpZwo=" },
    }))
    .await;
    let hosts: Objects<BareMetalHost> = manager.objects();
    create(
        &hosts,
        json!({
            "metadata": { "name": "node-1", "namespace": "default" },
            "spec": { "online": true, "bootMACAddress": "52:54:00:00:00:01", "userData": { "name": "user" } },
        }),
    )
    .await;
    let key = NamespacedName::new("default", "node-1");
    let status = json!({ "status": {
        "operationalStatus": "OK", "errorCount": 0, "errorMessage": "", "poweredOn": true,
        "provisioning": { "ID": "", "state": state, "image": { "url": "" } },
        "operationHistory": { "provision": { "start": "2026-11-22T08:50:00Z", "end": "2026-11-22T08:59:00Z" } },
    }});
    hosts.merge(&key, Some("status"), status).await.unwrap();
    (hosts, key)
}

#[tokio::test(start_paused = true)]
async fn leases_are_objects() {
    let manager = manager().await;
    let kube = Kube::start(&manager, true).await;
    assert_eq!(kube.machine(MAC).boot, Boot::Agent, "nobody described it");
    let (hosts, key) = host(&manager, "provisioned").await;
    let machine = kube.machine(MAC);
    assert_eq!(
        (machine.known, machine.boot, machine.host_name.as_deref()),
        (true, Boot::Disk, Some("node-1"))
    );
    kube.write_lease(lease(&manager)).await.unwrap();
    kube.write_lease(lease(&manager)).await.unwrap();
    assert_eq!(kube.leases(), [lease(&manager)]);
    let annotation = json!({ "metadata": { "annotations": { netboot::directory::ADDRESS: "10.0.0.77" } } });
    hosts.merge(&key, None, annotation).await.unwrap();
    let reserved = Ipv4Addr::new(10, 0, 0, 77);
    assert_eq!(kube.machine(MAC).reserved, Some(reserved));
    assert_eq!(kube.reserved_for(reserved), Some(MAC));
    let leases: Objects<DHCPLease> = manager.objects();
    create(
        &leases,
        json!({
            "metadata": { "name": "52-54-00-00-00-02" },
            "spec": { "macAddress": "52:54:00:00:00:02", "ipAddress": "10.0.0.78" },
        }),
    )
    .await;
    let other = MacAddress([0x52, 0x54, 0, 0, 0, 2]);
    assert_eq!(kube.machine(other).reserved, Some(Ipv4Addr::new(10, 0, 0, 78)), "a lease without an end");
}

#[tokio::test(start_paused = true)]
async fn an_agent_enrols_does_what_it_is_told_and_reports() {
    let manager = manager().await;
    let kube = Kube::start(&manager, true).await;
    let (_, _) = host(&manager, "provisioning").await;
    kube.write_lease(lease(&manager)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let leases = folder.path().join("leases");
    let addresses = Addresses::open(Arc::new(kube.clone()), manager.clock().clone(), &leases).unwrap();
    let metadata = Metadata::start(&manager, kube.clone(), addresses.clone()).await;
    let agents = Agents::start(&manager, kube.clone(), addresses, metadata).await;
    let objects: Objects<Agent> = manager.objects();
    let address = IpAddr::from(ADDRESS);
    assert_eq!(agents.instruction("aa", "").await, Err(Refusal::Unknown));
    let enrolled = agents.enrol("aa", address, &enrolment("first")).await.unwrap();
    assert_eq!(enrolled.name, "52-54-00-00-00-01");
    assert!(matches!(agents.enrol("bb", address, &enrolment("first")).await, Err(Refusal::Forbidden(_))));
    let key = NamespacedName::new("", enrolled.name);
    let status = objects.get(&key).unwrap().status.clone().unwrap();
    assert_eq!((status.boot_mode.as_deref(), status.address.as_deref()), (Some("UEFI"), Some("10.0.0.9")));

    assert_eq!(agents.instruction("aa", "").await, Ok(None), "there is none for a while");
    let instruction = json!({ "id": "deploy/1", "action": "Deploy", "configDrive": true, "bootID": "first",
        "image": { "url": "http://10.0.0.1/image" } });
    let told = async {
        manager.clock().sleep(Duration::from_secs(3)).await;
        objects.merge(&key, None, json!({ "spec": { "instruction": instruction } })).await.unwrap();
    };
    let (instruction, ()) = tokio::join!(agents.instruction("aa", ""), told);
    let instruction = instruction.unwrap().unwrap();
    assert!(matches!(instruction.action, Action::Deploy(_)), "{instruction:?}");
    assert_eq!(agents.instruction("aa", "deploy1").await, Ok(None), "it has it");
    let drive = agents.config_drive("aa").await.unwrap().unwrap();
    assert_eq!(drive.files["openstack/latest/user_data"], "#cloud-config\n");

    let progress =
        Progress { id: "deploy/1".into(), state: State::Done, message: String::new(), done: 7, total: 7 };
    let report = Report { instruction: Some(progress), log: vec!["written".into()], ..Report::default() };
    agents.report("aa", report).await.unwrap();
    let status = objects.get(&key).unwrap().status.clone().unwrap();
    let fares = status.instruction.unwrap();
    assert_eq!((fares.state.as_str(), fares.bytes_done, status.log.len()), ("Done", Some(7), 1));
    assert!(fares.end_time.is_some());

    manager.clock().sleep(Duration::from_secs(20)).await;
    agents.enrol("bb", address, &enrolment("second")).await.unwrap();
    assert_eq!(
        agents.report("aa", Report::default()).await,
        Err(Refusal::Unknown),
        "the machine has started again"
    );
    assert_eq!(agents.instruction("bb", "").await, Ok(None), "the instruction was for the start before");
}

/// The services as a process starts them.
async fn services(manager: &Manager) -> Site {
    let kube = Kube::start(manager, true).await;
    let folder = tempfile::tempdir().unwrap();
    let leases = folder.path().join("leases");
    let addresses = Addresses::open(Arc::new(kube.clone()), manager.clock().clone(), &leases).unwrap();
    let metadata = Metadata::start(manager, kube.clone(), addresses.clone()).await;
    let agents = Agents::start(manager, kube.clone(), addresses, metadata.clone()).await;
    Site {
        boot: BootFiles {
            kernels: [(Processor::X86_64, "kernel".into())].into(),
            initial: [(Processor::X86_64, "initramfs".into())].into(),
            ..BootFiles::default()
        },
        tftp: Default::default(),
        images: None,
        directory: Arc::new(kube),
        metadata: Some(metadata),
        agents: Some(agents),
        http_port: 8080,
        https_port: Some(8443),
    }
}

/// Asks over HTTP: status and body.
async fn ask(site: &Site, path: &str, address: [u8; 4]) -> (u16, String) {
    let peer =
        Peer { address: (address, 40000).into(), local: ([10, 0, 0, 1], 8080).into(), certificate: None };
    let request = http::Request::get(path).body(Empty::<Bytes>::new()).unwrap();
    let response = site.answer(request, &peer).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// Waits until there is an event with that reason.
async fn alerted(manager: &Manager, reason: &str) {
    let events = kube::Api::<k8s_openapi::api::core::v1::Event>::all(manager.client().clone());
    for _ in 0..100 {
        let found = events.list(&Default::default()).await.unwrap();
        if found
            .iter()
            .any(|event| event.reason.as_deref() == Some(reason) && event.type_.as_deref() == Some("Warning"))
        {
            return;
        }
        manager.clock().sleep(Duration::from_millis(100)).await;
    }
    panic!("no event {reason}");
}

const MINE: [u8; 4] = [10, 0, 0, 9];

#[tokio::test(start_paused = true)]
async fn user_data_is_told_to_its_machine_once() {
    let manager = manager().await;
    let _host = host(&manager, "provisioned").await;
    Kube::start(&manager, false).await.write_lease(lease(&manager)).await.unwrap();
    let site = services(&manager).await;
    let (status, text) = ask(&site, "/nocloud/meta-data", MINE).await;
    assert!(status == 200 && text.contains("\"local-hostname\": \"node-1\""), "{text}");
    let (status, text) = ask(&site, "/nocloud/user-data", [10, 0, 0, 10]).await;
    assert!(status == 404 && !text.contains("cloud-config"), "another machine: {text}");
    let mine = (200, "#cloud-config\n".to_owned());
    assert_eq!(ask(&site, "/ignition", MINE).await, mine);
    assert_eq!(ask(&site, "/ignition", MINE).await, mine, "clients try several times");
    drop(site);
    manager.clock().sleep(Duration::from_secs(180)).await;
    // Another process knows what the first one gave.
    let site = services(&manager).await;
    assert_eq!(ask(&site, "/ignition", MINE).await.0, 404, "it was given before");
    alerted(&manager, "UserDataAskedAgain").await;
    assert_eq!(ask(&site, "/boot/x", MINE).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn user_data_waits_fifteen_minutes() {
    let manager = manager().await;
    let _host = host(&manager, "provisioned").await;
    Kube::start(&manager, false).await.write_lease(lease(&manager)).await.unwrap();
    let site = services(&manager).await;
    manager.clock().sleep(Duration::from_secs(15 * 60)).await;
    assert_eq!(ask(&site, "/ignition", MINE).await.0, 404);
    alerted(&manager, "UserDataAskedLate").await;
}

#[tokio::test(start_paused = true)]
async fn a_configuration_drive_is_given_once_for_each_instruction() {
    let manager = manager().await;
    let (_, _) = host(&manager, "provisioning").await;
    let agents = services(&manager).await.agents.unwrap();
    agents.enrol("aa", IpAddr::from(ADDRESS), &enrolment("first")).await.unwrap();
    let objects: Objects<Agent> = manager.objects();
    let key = NamespacedName::new("", "52-54-00-00-00-01");
    let instruct = async |id: &str| {
        let instruction = json!({ "id": id, "action": "Deploy", "configDrive": true, "bootID": "first",
            "image": { "url": "http://10.0.0.1/image" } });
        objects.merge(&key, None, json!({ "spec": { "instruction": instruction } })).await.unwrap();
    };
    instruct("deploy/1").await;
    assert!(agents.config_drive("aa").await.unwrap().is_some());
    assert!(agents.config_drive("aa").await.unwrap().is_some(), "the connection broke");
    manager.clock().sleep(Duration::from_secs(180)).await;
    let agents = services(&manager).await.agents.unwrap();
    assert!(matches!(agents.config_drive("aa").await, Err(Refusal::Forbidden(_))));
    alerted(&manager, "ConfigDriveAskedAgain").await;
    instruct("deploy/2").await;
    assert!(agents.config_drive("aa").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_token_of_a_script_lets_one_agent_in() {
    let manager = manager().await;
    Kube::start(&manager, true).await.write_lease(lease(&manager)).await.unwrap();
    let site = services(&manager).await;
    let script = "/boot/script/52-54-00-00-00-01.ipxe";
    let (_, text) = ask(&site, script, [10, 0, 0, 10]).await;
    assert!(
        text.contains("/boot/kernel/x86_64") && !text.contains("firstlight.token="),
        "another machine: {text}"
    );
    let (_, text) = ask(&site, script, MINE).await;
    let token = text.split("firstlight.token=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert_eq!(token.len(), 32);
    // The server is started anew in between.
    let agents = services(&manager).await.agents.unwrap();
    let address = IpAddr::from(ADDRESS);
    let with =
        |token: Option<&str>, boot: &str| Enrolment { token: token.map(str::to_owned), ..enrolment(boot) };
    for wrong in [None, Some("0123")] {
        assert!(matches!(agents.enrol("aa", address, &with(wrong, "first")).await, Err(Refusal::Token(_))));
    }
    agents.enrol("aa", address, &with(Some(token), "first")).await.unwrap();
    agents.enrol("aa", address, &with(Some(token), "first")).await.unwrap();
    manager.clock().sleep(Duration::from_secs(60)).await;
    let again = agents.enrol("bb", address, &with(Some(token), "second")).await;
    assert!(matches!(again, Err(Refusal::Token(_))), "{again:?}");
    alerted(&manager, "BootTokenRefused").await;
    // Its next start has another one.
    let (_, text) = ask(&site, script, MINE).await;
    let next = text.split("firstlight.token=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert_ne!(next, token);
    agents.enrol("bb", address, &with(Some(next), "second")).await.unwrap();
    // Firmware starts it in another way afterwards, twice; the token stays used.
    for (certificate, boot) in [("cc", "third"), ("dd", "fourth")] {
        manager.clock().sleep(Duration::from_secs(60)).await;
        agents.enrol(certificate, address, &with(None, boot)).await.unwrap();
    }
    manager.clock().sleep(Duration::from_secs(60)).await;
    let again = agents.enrol("ee", address, &with(Some(next), "fifth")).await;
    assert!(matches!(again, Err(Refusal::Token(_))), "{again:?}");
}
