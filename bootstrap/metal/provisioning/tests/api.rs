//! Tests the services against an API server in this process, on a paused clock: the objects that they write, and their answers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use access::User;
use agent_protocol::dhcp::MacAddress;
use agent_protocol::{Action, Enrolment, Progress, Report, State};
use axum::body::Body;
use engine::{Kind, Manager, ManagerOptions, NamespacedName, Objects};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, PostParams};
use machinery::clock::Clock;
use machinery::random::Random;
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::dhcp4::server::Addresses;
use metal_boot::machine::{Boot, Directory, Lease};
use metal_provisioning::agents::{Agents, Refusal};
use metal_provisioning::bootstrap::{BootstrapReports, NodeRegistry};
use metal_provisioning::directory::Kube;
use metal_provisioning::http::site::Site;
use metal_provisioning::media::Media;
use metal_provisioning::metadata::Metadata;
use metal_provisioning::personal::Personal;
use net::SimulatedNetwork;
use registry::Registry;
use schemas::metal3::{BareMetalHost, PreprovisioningImage};
use schemas::netboot::{Agent, DHCPLease};
use serde_json::{Value, json};
use serving::Server;
use store::{Memory, Store};

use crate::metal_provisioning::asking::{answer, ask};

pub const MAC: MacAddress = MacAddress([0x52, 0x54, 0, 0, 0, 1]);
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

pub async fn manager() -> Manager {
    let epoch = machinery::clock::parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
    let (clock, random) = (Clock::simulated(epoch), Random::seeded(1));
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let options = registry::Options::default();
    let registry = Registry::open(store, clock.clone(), random.clone(), options).await.unwrap();
    let server = Server::builder(registry, clock.clone()).build();
    let client = kube::Client::new(server.client_service(User::master("test")), "default");
    let network = Arc::new(SimulatedNetwork::new());
    let (metrics, settings) = Default::default();
    let manager = Manager::new(ManagerOptions { client, clock, random, network, metrics, settings });
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

pub async fn create<K: Kind + serde::de::DeserializeOwned>(objects: &Objects<K>, value: Value) -> Arc<K> {
    objects.create(&serde_json::from_value(value).unwrap()).await.unwrap()
}

pub fn lease(manager: &Manager) -> Lease {
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

pub fn enrolment(boot: &str) -> Enrolment {
    Enrolment {
        boot_mac_address: MAC.to_string(),
        mac_addresses: vec![MAC.to_string()],
        boot_id: boot.into(),
        ..Enrolment::default()
    }
}

pub async fn host(manager: &Manager, state: &str) -> (Objects<BareMetalHost>, NamespacedName) {
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
    let annotation =
        json!({ "metadata": { "annotations": { metal_provisioning::directory::ADDRESS: "10.0.0.77" } } });
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
    let (_, _) = host(&manager, "provisioning").await;
    Kube::start(&manager, true).await.write_lease(lease(&manager)).await.unwrap();
    let site = services(&manager).await;
    let agents = site.agents.clone().unwrap();
    let objects: Objects<Agent> = manager.objects();
    let address = IpAddr::from(ADDRESS);
    assert_eq!(agents.instruction("aa", "").await, Err(Refusal::Unknown));
    let token = token_of_script(&site).await;
    let enrolled = agents.enrol("aa", address, &with(Some(&token), "first")).await.unwrap();
    assert_eq!(enrolled.name, "52-54-00-00-00-01");
    assert!(agents.enrol("bb", address, &with(Some(&token), "first")).await.is_err());
    let key = NamespacedName::new("", enrolled.name);
    is_host(&manager).await;
    let status = objects.get(&key).unwrap().status.clone().unwrap();
    assert_eq!((status.boot_mode.as_deref(), status.address.as_deref()), (Some("UEFI"), Some("10.0.0.9")));
    assert_eq!(status.proven_by.as_deref(), Some("Token"));

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
    let drive = agents.config_drive("aa", HTTP).await.unwrap().unwrap();
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
    let token = token_of_script(&site).await;
    agents.enrol("bb", address, &with(Some(&token), "second")).await.unwrap();
    assert_eq!(
        agents.report("aa", Report::default()).await,
        Err(Refusal::Unknown),
        "the machine has started again"
    );
    assert_eq!(agents.instruction("bb", "").await, Ok(None), "the instruction was for the start before");
}

pub fn with(token: Option<&str>, boot: &str) -> Enrolment {
    Enrolment { token: token.map(str::to_owned), ..enrolment(boot) }
}

/// Returns the token in the machine's boot script.
pub async fn token_of_script(site: &Site) -> String {
    let (_, text) = ask(site, "/boot/script/52-54-00-00-00-01.ipxe", MINE).await;
    let token = text.split("firstlight.token=").nth(1).and_then(|rest| rest.split(' ').next());
    token.unwrap_or_else(|| panic!("no token: {text}")).to_owned()
}

/// Sets `hostRef`, as the controller does when it has recognised the machine.
pub async fn is_host(manager: &Manager) {
    let agents: Objects<Agent> = manager.objects();
    let known = json!({ "spec": { "hostRef": { "namespace": "default", "name": "node-1" } } });
    agents.merge(&NamespacedName::new("", MAC.dashed()), None, known).await.unwrap();
}

/// Starts the services as a new process would.
pub async fn services(manager: &Manager) -> Site {
    let kube = Kube::start(manager, true).await;
    let folder = tempfile::tempdir().unwrap();
    let leases = folder.path().join("leases");
    let counted = metal_boot::metrics::Metrics::of(manager.all_metrics());
    let addresses =
        Addresses::open(Arc::new(kube.clone()), manager.clock().clone(), &leases, counted).unwrap();
    let metadata = Metadata::start(manager, kube.clone(), addresses.clone()).await;
    let bootstrap = Some(BootstrapReports::new(manager, kube.clone(), addresses.clone()));
    let registry = NodeRegistry { port: 8443, authority: "PEM".into() };
    let agents = Agents::start(manager, kube.clone(), addresses, metadata.clone(), Some(registry)).await;
    let media = Some(Media::start(manager, kube.clone()).await);
    let boot = BootFiles {
        kernels: [(Processor::X86_64, "kernel".into())].into(),
        initial: [(Processor::X86_64, "initramfs".into())].into(),
        ..BootFiles::default()
    };
    let directory: Arc<dyn Directory> = Arc::new(kube);
    let personal = Personal {
        boot: boot.clone(),
        tftp: Default::default(),
        directory: directory.clone(),
        agents: agents.clone(),
    };
    Site {
        bootstrap,
        media,
        boot,
        tftp: Default::default(),
        images: None,
        registry: Default::default(),
        directory,
        metadata: Some(metadata),
        agents: Some(agents),
        personal: Some(personal),
        bundle_files: None,
        http_port: 8080,
        https_port: Some(8443),
    }
}

/// Waits until there is an event with that reason.
pub async fn alerted(manager: &Manager, reason: &str) {
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

/// Makes the host's user data use another channel than the drive.
pub async fn by(manager: &Manager, (hosts, key): (Objects<BareMetalHost>, NamespacedName), way: &str) {
    let annotations = json!({ metal_provisioning::metadata::channel::USER_DATA: way });
    hosts.merge(&key, None, json!({ "metadata": { "annotations": annotations } })).await.unwrap();
    manager.clock().sleep(Duration::from_secs(1)).await;
}

pub const HTTP: &str = "http://10.0.0.1:8080";
pub const MINE: [u8; 4] = [10, 0, 0, 9];

#[tokio::test(start_paused = true)]
async fn user_data_is_told_to_its_machine_once() {
    let manager = manager().await;
    by(&manager, host(&manager, "provisioned").await, "http").await;
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
    // A restarted process knows what the first one gave.
    let site = services(&manager).await;
    assert_eq!(ask(&site, "/ignition", MINE).await.0, 404, "it was given before");
    alerted(&manager, "UserDataAskedAgain").await;
    assert_eq!(ask(&site, "/boot/x", MINE).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn user_data_waits_fifteen_minutes() {
    let manager = manager().await;
    by(&manager, host(&manager, "provisioned").await, "http").await;
    Kube::start(&manager, false).await.write_lease(lease(&manager)).await.unwrap();
    let site = services(&manager).await;
    manager.clock().sleep(Duration::from_secs(15 * 60)).await;
    assert_eq!(ask(&site, "/ignition", MINE).await.0, 404);
    alerted(&manager, "UserDataAskedLate").await;
}

#[tokio::test(start_paused = true)]
async fn a_configuration_drive_is_given_once_for_each_instruction() {
    let manager = manager().await;
    let (hosts, name) = host(&manager, "provisioning").await;
    let agents = services(&manager).await.agents.unwrap();
    agents.enrol("aa", IpAddr::from(ADDRESS), &enrolment("first")).await.unwrap();
    is_host(&manager).await;
    let objects: Objects<Agent> = manager.objects();
    let key = NamespacedName::new("", "52-54-00-00-00-01");
    let instruct = async |id: &str| {
        let instruction = json!({ "id": id, "action": "Deploy", "configDrive": true, "bootID": "first",
            "image": { "url": "http://10.0.0.1/image" } });
        objects.merge(&key, None, json!({ "spec": { "instruction": instruction } })).await.unwrap();
    };
    instruct("deploy/1").await;
    assert!(agents.config_drive("aa", HTTP).await.unwrap().is_some());
    assert!(agents.config_drive("aa", HTTP).await.unwrap().is_some(), "the connection broke");
    manager.clock().sleep(Duration::from_secs(180)).await;
    let agents = services(&manager).await.agents.unwrap();
    assert!(matches!(agents.config_drive("aa", HTTP).await, Err(Refusal::Forbidden(_))));
    alerted(&manager, "ConfigDriveAskedAgain").await;
    // The host is provisioned again.
    let again =
        json!({ "operationHistory": { "provision": { "start": "2026-11-22T09:02:00Z", "end": null } } });
    hosts.merge(&name, Some("status"), json!({ "status": again })).await.unwrap();
    instruct("deploy/2").await;
    assert!(agents.config_drive("aa", HTTP).await.unwrap().is_some());
}

/// Returns an agent that was told to deploy, and its object.
async fn deploys(manager: &Manager, site: &Site) -> (Arc<Agents>, Objects<Agent>, NamespacedName) {
    let agents = site.agents.clone().unwrap();
    agents.enrol("aa", IpAddr::from(ADDRESS), &enrolment("first")).await.unwrap();
    is_host(manager).await;
    let objects: Objects<Agent> = manager.objects();
    let key = NamespacedName::new("", "52-54-00-00-00-01");
    let instruction = json!({ "id": "deploy/2026-11-22T08:50:00Z", "action": "Deploy", "configDrive": true,
        "bootID": "first", "image": { "url": "http://10.0.0.1/image" } });
    objects.merge(&key, None, json!({ "spec": { "instruction": instruction } })).await.unwrap();
    (agents, objects, key)
}

#[tokio::test(start_paused = true)]
async fn user_data_of_a_drive_is_told_to_nobody_else() {
    let manager = manager().await;
    let _host = host(&manager, "provisioned").await;
    Kube::start(&manager, false).await.write_lease(lease(&manager)).await.unwrap();
    let site = services(&manager).await;
    let (agents, ..) = deploys(&manager, &site).await;
    let drive = agents.config_drive("aa", HTTP).await.unwrap().unwrap();
    assert_eq!(drive.files["openstack/latest/user_data"], "#cloud-config\n");
    assert_eq!(ask(&site, "/ignition", MINE).await.0, 404);
    assert_eq!(ask(&site, "/nocloud/meta-data", MINE).await.0, 200, "what is no secret is told");
    alerted(&manager, "UserDataRefused").await;
}

#[tokio::test(start_paused = true)]
async fn user_data_that_went_over_http_is_on_no_drive() {
    let manager = manager().await;
    let (hosts, key) = host(&manager, "provisioning").await;
    Kube::start(&manager, false).await.write_lease(lease(&manager)).await.unwrap();
    by(&manager, (hosts.clone(), key.clone()), "http").await;
    let site = services(&manager).await;
    let (agents, ..) = deploys(&manager, &site).await;
    let drive = agents.config_drive("aa", HTTP).await.unwrap().unwrap();
    assert!(!drive.files.contains_key("openstack/latest/user_data"), "it goes another way");
    manager.clock().sleep(Duration::from_secs(180)).await;
    assert_eq!(ask(&site, "/nocloud/user-data", MINE).await.0, 200);
    by(&manager, (hosts, key), "drive").await;
    assert!(matches!(agents.config_drive("aa", HTTP).await, Err(Refusal::Forbidden(_))));
    alerted(&manager, "ConfigDriveAskedAgain").await;
}

#[tokio::test(start_paused = true)]
async fn a_url_on_the_drive_has_a_token_that_opens_once_and_for_its_machine_alone() {
    let manager = manager().await;
    by(&manager, host(&manager, "provisioned").await, "url").await;
    Kube::start(&manager, false).await.write_lease(lease(&manager)).await.unwrap();
    let site = services(&manager).await;
    let (agents, objects, key) = deploys(&manager, &site).await;
    let drive = agents.config_drive("aa", HTTP).await.unwrap().unwrap();
    let on_drive = &drive.files["openstack/latest/user_data"];
    let url = on_drive.strip_prefix("#include-once\n").unwrap().trim_end();
    let path = url.strip_prefix(HTTP).unwrap();
    assert_eq!(path.len(), "/metadata//nocloud/user-data".len() + 32, "{path}");
    let kept = serde_json::to_string(&*objects.get(&key).unwrap()).unwrap();
    assert!(!kept.contains(path.split('/').nth(2).unwrap()), "its checksum is kept");

    assert_eq!(ask(&site, "/ignition", MINE).await.0, 404, "without the token");
    assert_eq!(ask(&site, "/metadata/0123/ignition", MINE).await.0, 404, "with another one");
    alerted(&manager, "UserDataTokenRefused").await;
    let meta_data: Value = serde_json::from_str(&drive.files["openstack/latest/meta_data.json"]).unwrap();
    let reports = meta_data["phone_home_url"].as_str().unwrap().strip_prefix(HTTP).unwrap();
    let with_token_for_reports = reports.replace("/bootstrap", "/ignition");
    assert_eq!(ask(&site, &with_token_for_reports, MINE).await.0, 404, "every program can read that token");
    assert_eq!(ask(&site, path, [10, 0, 0, 10]).await.0, 404, "from another machine");
    let ignition = path.replace("nocloud/user-data", "ignition");
    assert_eq!(ask(&site, &ignition, MINE).await, (200, "#cloud-config\n".to_owned()));
    manager.clock().sleep(Duration::from_secs(180)).await;
    assert_eq!(ask(&site, &ignition, MINE).await.0, 404, "once");
    alerted(&manager, "UserDataAskedAgain").await;
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
    // The server restarts in between.
    let agents = services(&manager).await.agents.unwrap();
    let address = IpAddr::from(ADDRESS);
    for wrong in [None, Some("0123")] {
        assert!(matches!(agents.enrol("aa", address, &with(wrong, "first")).await, Err(Refusal::Token(_))));
    }
    agents.enrol("aa", address, &with(Some(token), "first")).await.unwrap();
    agents.enrol("aa", address, &with(Some(token), "first")).await.unwrap();
    manager.clock().sleep(Duration::from_secs(60)).await;
    let again = agents.enrol("bb", address, &with(Some(token), "second")).await;
    assert!(matches!(again, Err(Refusal::Token(_))), "{again:?}");
    alerted(&manager, "BootTokenRefused").await;
    // The next start gets another token.
    let next = token_of_script(&services(&manager).await).await;
    assert_ne!(next, token);
    let agents = services(&manager).await.agents.unwrap();
    agents.enrol("bb", address, &with(Some(&next), "second")).await.unwrap();
    // Afterwards the firmware starts the machine twice without a token; the used token stays refused.
    for (certificate, boot) in [("cc", "third"), ("dd", "fourth")] {
        manager.clock().sleep(Duration::from_secs(60)).await;
        agents.enrol(certificate, address, &with(None, boot)).await.unwrap();
    }
    manager.clock().sleep(Duration::from_secs(60)).await;
    let again = agents.enrol("ee", address, &with(Some(&next), "fifth")).await;
    assert!(matches!(again, Err(Refusal::Token(_))), "{again:?}");
}

/// Returns the CD or a range of it: status, content, entity tag.
async fn cd(site: &Site, path: &str, range: Option<&str>) -> (u16, Vec<u8>, Option<String>) {
    let mut request = http::Request::get(path);
    if let Some(range) = range {
        request = request.header("range", range);
    }
    let response = answer(site, request.body(Body::empty()).unwrap(), MINE, &[]).await;
    let status = response.status().as_u16();
    let tag = response.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, body.to_vec(), tag)
}

/// Returns an empty UEFI program, to which sections can be added.
pub fn stub() -> Vec<u8> {
    let mut stub = vec![0; 1024];
    stub[..2].copy_from_slice(b"MZ");
    stub[0x3c] = 0x80;
    stub[0x80..0x84].copy_from_slice(b"PE\0\0");
    // The optional header has 240 bytes and the format PE32+; sections are aligned to 4096 in memory and to 512 in the file.
    stub[0x80 + 20] = 240;
    stub[0x98..0x9a].copy_from_slice(&[0x0b, 0x02]);
    stub[0x98 + 32..0x98 + 36].copy_from_slice(&4096u32.to_le_bytes());
    stub[0x98 + 36..0x98 + 40].copy_from_slice(&512u32.to_le_bytes());
    stub
}

/// Returns boot files that are stored in `folder`.
pub fn boot_files(folder: &Path) -> BootFiles {
    let file = |name: &str, content: &[u8]| {
        std::fs::write(folder.join(name), content).unwrap();
        [(Processor::X86_64, folder.join(name))]
    };
    BootFiles {
        stubs: file("stub", &stub()).into(),
        kernels: file("kernel", &[7; 3000]).into(),
        initial: file("initramfs", &[8; 3000]).into(),
        unified: file("unified", &[9; 3000]).into(),
        arguments: "quiet".into(),
        ..BootFiles::default()
    }
}

#[tokio::test(start_paused = true)]
async fn virtual_media_has_the_hosts_own_arguments_and_lets_one_agent_in() {
    let folder = tempfile::tempdir().unwrap();
    let boot = boot_files(folder.path());
    let manager = manager().await;
    host(&manager, "inspecting").await;
    let secrets: Objects<Secret> = manager.objects();
    let network = json!({
        "links": [{"id": "a", "type": "phy", "ethernet_mac_address": MAC.to_string()}],
        "networks": [{"type": "ipv4", "link": "a", "ip_address": "10.0.0.9/24", "gateway": "10.0.0.1"}],
    });
    let data = json!({"metadata": {"name": "network", "namespace": "default"}, "stringData": {"networkData": network.to_string()}});
    create(&secrets, data).await;
    let images: Objects<PreprovisioningImage> = manager.objects();
    let image = create(
        &images,
        json!({
            "metadata": {"name": "node-1", "namespace": "default"},
            "spec": {"architecture": "x86_64", "acceptFormats": ["iso"], "networkDataName": "network"},
        }),
    )
    .await;
    let status = json!({"status": {"format": "iso", "extraKernelParams": "quiet"}});
    images.merge(&NamespacedName::of(image.as_ref()), Some("status"), status).await.unwrap();
    let path = format!("{}/{}", metal_provisioning::media::FOLDER, metal::preprovisioning::path(&image));

    let site = Site { boot: boot.clone(), ..services(&manager).await };
    let told = async || {
        let (status, content, tag) = cd(&site, &path, None).await;
        assert_eq!((status, &content[16 * 2048 + 1..16 * 2048 + 6]), (200, &b"CD001"[..]));
        let text = String::from_utf8_lossy(&content);
        let line = text.lines().find(|line| line.contains("firstlight.token=")).unwrap();
        let line = line[line.find("quiet").unwrap()..].trim_end_matches(['\0', '\u{fffd}']).to_owned();
        let line = line.split('\0').next().unwrap().to_owned();
        (content, line, tag)
    };
    let (content, line, tag) = told().await;
    let [first, boot_interface, token, network] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((first, boot_interface), ("quiet", "BOOTIF=01-52-54-00-00-00-01"));
    assert_eq!(network, "firstlight.network=52:54:00:00:00:01,10.0.0.9/24,10.0.0.1");
    let token = token.strip_prefix("firstlight.token=").unwrap();
    let (status, part, same) = cd(&site, &path, Some("bytes=32768-40000")).await;
    assert_eq!((status, part.as_slice(), &same), (206, &content[32768..=40000], &tag));
    for wrong in ["1234.iso", "x"] {
        let other = format!("{}/default/node-1/{wrong}", metal_provisioning::media::FOLDER);
        assert_eq!(cd(&site, &other, None).await.0, 404);
    }

    let agents = site.agents.clone().unwrap();
    let address = IpAddr::from(ADDRESS);
    for wrong in [None, Some("0123")] {
        assert!(matches!(agents.enrol("aa", address, &with(wrong, "first")).await, Err(Refusal::Token(_))));
    }
    agents.enrol("aa", address, &with(Some(token), "first")).await.unwrap();
    let machines: Objects<Agent> = manager.objects();
    let agent = machines.get(&NamespacedName::new("", MAC.dashed())).unwrap();
    let host = agent.spec.host_ref.as_ref().map(|host| host.name.as_str());
    assert_eq!(host, Some("node-1"), "the token of its media shows whose machine it is");
    agents.enrol("aa", address, &with(Some(token), "first")).await.unwrap();
    manager.clock().sleep(Duration::from_secs(60)).await;
    assert!(matches!(
        agents.enrol("bb", address, &with(Some(token), "second")).await,
        Err(Refusal::Token(_))
    ));
    alerted(&manager, "BootTokenRefused").await;
    // The next start uses another CD.
    let (_, next, other) = told().await;
    assert!(next != line && other != tag, "{next}");
    let next = next.split("firstlight.token=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    agents.enrol("bb", address, &with(Some(next), "second")).await.unwrap();

    let signed = BootFiles { stubs: Default::default(), ..boot };
    let status = json!({"status": {"extraKernelParams": null}});
    images.merge(&NamespacedName::of(image.as_ref()), Some("status"), status).await.unwrap();
    let (status, content, _) = cd(&Site { boot: signed, ..services(&manager).await }, &path, None).await;
    assert!(status == 200 && !String::from_utf8_lossy(&content).contains("firstlight.token="));
}
