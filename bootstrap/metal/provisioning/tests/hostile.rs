//! Tests with a hostile machine on the provisioning network, which sends arbitrary claims from its own address and with its own
//! certificate.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::dhcp::MacAddress;
use agent_protocol::{Enrolment, Report};
use axum::body::Body;
use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::Event;
use metal_boot::machine::{Directory, Lease};
use metal_provisioning::agents::{Agents, Refusal};
use metal_provisioning::directory::Kube;
use metal_provisioning::http::site::Site;
use metal_provisioning::limits;
use metal_provisioning::personal::Personal;
use rustls::pki_types::CertificateDer;
use schemas::netboot::{Agent, DHCPLease};
use serde_json::json;

use crate::metal_provisioning::api::{
    ADDRESS, HTTP, MAC, MINE, alerted, boot_files, by, enrolment, host, is_host, lease, manager, services,
    stub, token_of_script, with,
};
use crate::metal_provisioning::asking::{answer, ask};

/// The MAC address of the hostile machine.
const OWN: MacAddress = MacAddress([0x52, 0x54, 0, 0, 0, 0x66]);
const FROM: [u8; 4] = [10, 0, 0, 66];

/// Enrolments in which the hostile machine claims to be the honest one, in each possible way.
fn claims() -> [(&'static str, Enrolment); 4] {
    let own =
        Enrolment { boot_mac_address: OWN.to_string(), boot_id: "hostile".into(), ..Enrolment::default() };
    let both = vec![OWN.to_string(), MAC.to_string()];
    let uuid = Some("4c4c4544-0000-0000-0000-000000000001".to_owned());
    [
        ("its interface", enrolment("hostile")),
        ("its interface and more", Enrolment { mac_addresses: both.clone(), ..enrolment("hostile") }),
        ("a second interface", Enrolment { mac_addresses: both, ..own.clone() }),
        ("its UUID and number", Enrolment { system_uuid: uuid, serial_number: Some("S1".into()), ..own }),
    ]
}

/// Starts the services with a host whose machine has a lease, and a hostile machine, which has a lease if `has_lease`.
async fn network(state: &str, has_lease: bool) -> (Manager, Site) {
    let manager = manager().await;
    host(&manager, state).await;
    let kube = Kube::start(&manager, true).await;
    kube.write_lease(lease(&manager)).await.unwrap();
    if has_lease {
        kube.write_lease(Lease { mac: OWN, address: FROM.into(), ..lease(&manager) }).await.unwrap();
    }
    let site = services(&manager).await;
    (manager, site)
}

fn agent(manager: &Manager, mac: MacAddress) -> Option<Arc<Agent>> {
    manager.objects::<Agent>().get(&NamespacedName::new("", mac.dashed()))
}

/// The honest machine enrols, becomes the host's, and is told to deploy.
async fn installs(manager: &Manager, site: &Site) -> Arc<Agents> {
    let agents = site.agents.clone().unwrap();
    let token = token_of_script(site).await;
    agents.enrol("honest", ADDRESS.into(), &with(Some(&token), "first")).await.unwrap();
    is_host(manager).await;
    let instruction = json!({ "id": "deploy/1", "action": "Deploy", "configDrive": true, "bootID": "first",
        "image": { "url": "http://10.0.0.1/image" } });
    let objects: Objects<Agent> = manager.objects();
    let key = NamespacedName::new("", MAC.dashed());
    objects.merge(&key, None, json!({ "spec": { "instruction": instruction } })).await.unwrap();
    agents
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_an_event_and_nothing_else() {
    for has_lease in [true, false] {
        for (what, claim) in claims() {
            let (manager, site) = network("provisioning", has_lease).await;
            let agents = installs(&manager, &site).await;
            let before = agent(&manager, MAC).unwrap();
            // The honest machine restarts and is silent meanwhile.
            for seconds in [0, 8, 600] {
                manager.clock().sleep(Duration::from_secs(seconds)).await;
                for token in [None, Some("0123")] {
                    let claim = Enrolment { token: token.map(str::to_owned), ..claim.clone() };
                    // The hostile machine may still enrol under its own name.
                    let _ = agents.enrol("hostile", FROM.into(), &claim).await;
                }
            }
            assert_eq!(agent(&manager, MAC).unwrap().status, before.status, "{what} {has_lease}");
            assert_eq!(agent(&manager, MAC).unwrap().spec, before.spec, "{what} {has_lease}");
            if let Some(other) = agent(&manager, OWN) {
                assert_eq!(other.spec.host_ref, None, "{what} {has_lease}");
                assert_eq!(other.status.as_ref().and_then(|status| status.proven_by.clone()), None);
            }
            assert!(agents.config_drive("hostile", HTTP).await.is_err(), "{what} {has_lease}");
            assert!(!matches!(agents.instruction("hostile", "").await, Ok(Some(_))), "{what} {has_lease}");
            agents.report("honest", Report::default()).await.unwrap();
            assert!(agents.config_drive("honest", HTTP).await.unwrap().is_some(), "{what} {has_lease}");
            if what != "its UUID and number" && has_lease {
                alerted(&manager, "MachineClaimed").await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_told_to_its_lease_and_taken_from_its_lease() {
    let (manager, site) = network("inspecting", true).await;
    let agents = site.agents.clone().unwrap();
    let script = format!("/boot/script/{}.ipxe", MAC.dashed());
    for from in [FROM, [10, 0, 0, 67]] {
        let (status, text) = ask(&site, &script, from).await;
        assert!(status == 200 && !text.contains("firstlight.token="), "{from:?}: {text}");
    }
    let token = token_of_script(&site).await;
    // The hostile machine has read the token on the network.
    for (what, claim) in claims() {
        let claim = Enrolment { token: Some(token.clone()), ..claim };
        let entered = agents.enrol("hostile", FROM.into(), &claim).await;
        assert!(entered.is_err(), "{what}: {entered:?}");
    }
    assert_eq!(agent(&manager, MAC), None);
    agents.enrol("honest", ADDRESS.into(), &with(Some(&token), "first")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_came_first_under_a_hosts_name_is_not_the_host_and_keeps_it_not_out() {
    let (manager, site) = network("inspecting", false).await;
    let agents = site.agents.clone().unwrap();
    // The host's machine has not started yet: its lease is deleted, and the hostile machine claims its MAC address.
    let leases: Objects<DHCPLease> = manager.objects();
    leases.delete(&leases.get(&NamespacedName::new("", MAC.dashed())).unwrap()).await.unwrap();
    let later = services(&manager).await.agents.unwrap();
    later.enrol("hostile", FROM.into(), &enrolment("hostile")).await.unwrap();
    let before = agent(&manager, MAC).unwrap();
    assert_eq!(before.status.as_ref().and_then(|status| status.proven_by.clone()), None);
    let token = token_of_script(&site).await;
    agents.enrol("honest", ADDRESS.into(), &with(Some(&token), "first")).await.unwrap();
    let status = agent(&manager, MAC).unwrap().status.clone().unwrap();
    assert_eq!(
        (status.certificate_sha256.as_deref(), status.proven_by.as_deref()),
        (Some("honest"), Some("Token"))
    );
    assert_eq!(agents.report("hostile", Report::default()).await, Err(Refusal::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_can_be_told_no_token_waits_for_a_person_in_each_start() {
    let (manager, site) = network("available", true).await;
    let agents = site.agents.clone().unwrap();
    // An image that the site has signed contains no token.
    agents.enrol("first", ADDRESS.into(), &enrolment("first")).await.unwrap();
    is_host(&manager).await;
    let objects: Objects<Agent> = manager.objects();
    let key = NamespacedName::new("", MAC.dashed());
    manager.clock().sleep(Duration::from_secs(60)).await;
    let refused = agents.enrol("second", ADDRESS.into(), &enrolment("second")).await;
    assert!(matches!(refused, Err(Refusal::Unproven(_))), "{refused:?}");
    alerted(&manager, "ApprovalNeeded").await;
    objects.merge(&key, None, json!({ "spec": { "approved": true } })).await.unwrap();
    let other = agents.enrol("other", ADDRESS.into(), &enrolment("other")).await;
    assert!(matches!(other, Err(Refusal::Unproven(_))), "a person saw another one: {other:?}");
    agents.enrol("second", ADDRESS.into(), &enrolment("second")).await.unwrap();
    let approved = objects.get(&key).unwrap();
    assert_eq!(approved.spec.approved, None, "it counts once");
    assert_eq!(approved.status.as_ref().and_then(|status| status.proven_by.as_deref()), Some("Approval"));
    // An approval that no machine waits for is removed.
    objects.merge(&key, None, json!({ "spec": { "approved": true } })).await.unwrap();
    manager.clock().sleep(2 * limits::FORGET_EVERY).await;
    assert_eq!(objects.get(&key).unwrap().spec.approved, None);
}

/// Returns the unified image as the machine at `from` gets it: its length, and its content as text.
async fn load(site: &Site, method: http::Method, from: [u8; 4]) -> (String, String) {
    let request = http::Request::builder().method(method).uri("/boot/uki/x86_64.efi");
    let request = request.body(Body::empty()).unwrap();
    let response = answer(site, request, from, &[]).await;
    let length = response.headers()["content-length"].to_str().unwrap().to_owned();
    let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    (length, String::from_utf8_lossy(&body).into_owned())
}

/// Returns the token in the kernel arguments of an image.
fn token(image: &str) -> Option<String> {
    let (_, after) = image.split_once("quiet firstlight.token=")?;
    Some(after[..32].to_owned())
}

/// Returns the services with boot files in `folder`.
fn with_files(site: Site, folder: &std::path::Path) -> Site {
    let boot = boot_files(folder);
    let personal = site.personal.clone().unwrap();
    Site { personal: Some(Personal { boot: boot.clone(), ..personal }), boot, ..site }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_starts_a_signed_image_is_expected_to_show_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, site) = network("inspecting", true).await;
    let site = with_files(site, folder.path());
    // The firmware refuses the unsigned image, and then the site signs it.
    let refused = token(&load(&site, http::Method::GET, MINE).await.1).expect("a token");
    let mut signed = stub();
    // The size of the certificate table, a data directory of the optional header.
    signed[0x98 + 148..0x98 + 152].copy_from_slice(&1200u32.to_le_bytes());
    std::fs::write(folder.path().join("unified"), &signed).unwrap();
    let (length, text) = load(&site, http::Method::GET, MINE).await;
    assert_eq!((length, token(&text)), (signed.len().to_string(), None));
    let agents = site.agents.clone().unwrap();
    let old = agents.enrol("other", ADDRESS.into(), &with(Some(&refused), "first")).await;
    assert!(matches!(old, Err(Refusal::Token(_))), "{old:?}");
    agents.enrol("honest", ADDRESS.into(), &enrolment("first")).await.unwrap();
    assert_eq!(
        agent(&manager, MAC).unwrap().status.as_ref().and_then(|status| status.proven_by.clone()),
        None
    );
}

#[tokio::test(start_paused = true)]
async fn a_unified_image_has_the_token_of_the_machine_that_loads_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_manager, site) = network("inspecting", true).await;
    let site = with_files(site, folder.path());
    let load = async |method: http::Method, from: [u8; 4]| load(&site, method, from).await;
    let (length, _) = load(http::Method::HEAD, MINE).await;
    let (same, text) = load(http::Method::GET, MINE).await;
    let own = token(&text).expect("a token");
    assert_eq!(length, same);
    assert_eq!(
        token(&load(http::Method::GET, MINE).await.1).as_ref(),
        Some(&own),
        "in parts it is one image"
    );
    let other = token(&load(http::Method::GET, FROM).await.1).expect("a token of its own");
    assert_ne!(own, other);
    assert_eq!(token(&load(http::Method::GET, [10, 0, 0, 99]).await.1), None, "nobody has this address");
    let agents = site.agents.clone().unwrap();
    assert!(agents.enrol("hostile", ADDRESS.into(), &with(Some(&other), "first")).await.is_err());
    agents.enrol("honest", ADDRESS.into(), &with(Some(&own), "first")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn user_data_of_one_is_not_told_to_another_that_says_it_has_its_address() {
    // Another server gives addresses here, so no machine is identified by its lease.
    let manager = manager().await;
    by(&manager, host(&manager, "provisioned").await, "http").await;
    let site = services(&manager).await;
    let agents = site.agents.clone().unwrap();
    agents.enrol("hostile", FROM.into(), &enrolment("hostile")).await.unwrap();
    for path in ["/nocloud/user-data", "/ignition", "/openstack/latest/user_data", "/2009-04-04/user-data"] {
        let (status, text) = ask(&site, path, FROM).await;
        assert!(status == 404 && !text.contains("cloud-config"), "{path}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_machines_are_so_many_and_are_forgotten() {
    let (manager, site) = network("available", false).await;
    let agents = site.agents.clone().unwrap();
    let stranger = |number: u32| {
        let [a, b, c, d] = number.to_be_bytes();
        let mac = MacAddress([2, 0, a, b, c, d]);
        (IpAddr::from([10, 9, c, d]), Enrolment { boot_mac_address: mac.to_string(), ..enrolment("first") })
    };
    let count = || manager.objects::<Agent>().all().len();
    // One address counts as one machine, whatever it claims.
    for number in 0..20 {
        agents.enrol(&format!("first-{number}"), FROM.into(), &stranger(number).1).await.unwrap();
        let more = agents.enrol("too-soon", FROM.into(), &stranger(number + 50).1).await;
        assert!(matches!(more, Err(Refusal::Full(_))), "{more:?}");
        manager.clock().sleep(limits::UNKNOWN_AGAIN).await;
    }
    assert_eq!(count(), 1);
    let most = u32::try_from(limits::UNKNOWN_MACHINES).unwrap();
    for number in 100..100 + most - 1 {
        let (address, said) = stranger(number);
        agents.enrol(&number.to_string(), address, &said).await.unwrap();
    }
    assert_eq!(count(), limits::UNKNOWN_MACHINES);
    let (address, said) = stranger(90_000);
    let refused = agents.enrol("more", address, &said).await;
    assert!(matches!(refused, Err(Refusal::Full(_))), "{refused:?}");
    // A machine with a BareMetalHost is admitted beyond the limit.
    let token = token_of_script(&site).await;
    agents.enrol("honest", ADDRESS.into(), &with(Some(&token), "first")).await.unwrap();
    is_host(&manager).await;
    manager.clock().sleep(limits::UNKNOWN_SILENT).await;
    agents.enrol("more", address, &said).await.unwrap();
    assert_eq!(count(), limits::UNKNOWN_MACHINES + 1, "a silent one has made room");
    manager.clock().sleep(limits::UNKNOWN_FORGOTTEN + limits::FORGET_EVERY).await;
    assert_eq!((count(), agent(&manager, MAC).is_some()), (1, true), "the host stays");
    let text = manager.all_metrics().text();
    for line in [
        "firstlight_netboot_enrolments_total{result=\"full\"} 21\n",
        &format!("firstlight_netboot_enrolments_total{{result=\"enrolled\"}} {}\n", 20 + most - 1 + 2),
        "firstlight_limit_reached_total{limit=\"netboot_unknown_again\"} 20\n",
        "firstlight_limit_reached_total{limit=\"netboot_unknown_machines\"} 1\n",
        "firstlight_limit_reached_total{limit=\"netboot_unknown_silent\"} 1\n",
        &format!("firstlight_limit_reached_total{{limit=\"netboot_unknown_forgotten\"}} {most}\n"),
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

/// Returns a self-signed certificate that is valid for so long.
fn certificate(manager: &Manager, validity: chrono::Duration) -> Vec<CertificateDer<'static>> {
    let (clock, random) = (manager.clock(), manager.random());
    let own = pki::CertificateAuthority::generate(
        "hostile",
        pki::KeyAlgorithm::EcdsaP256,
        Some(validity),
        clock.now(),
        random,
    );
    pki::certificates(own.unwrap().certificate()).unwrap()
}

/// Nobody verifies the certificate of an agent in the handshake, and its connection can last longer.
#[tokio::test(start_paused = true)]
async fn a_certificate_that_has_expired_is_refused_at_each_request() {
    let (manager, site) = network("available", true).await;
    let certificates = certificate(&manager, chrono::Duration::seconds(60));
    let body =
        serde_json::to_vec(&Enrolment { boot_mac_address: OWN.to_string(), ..enrolment("first") }).unwrap();
    for code in [200, 401] {
        let request = http::Request::post("/agent/v1/enrol");
        let request = request.body(Body::from(body.clone())).unwrap();
        assert_eq!(answer(&site, request, FROM, &certificates).await.status().as_u16(), code);
        tokio::time::advance(Duration::from_secs(61)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn values_of_an_enrolment_above_their_limits_are_refused_and_counted() {
    let (manager, site) = network("available", true).await;
    let certificates = certificate(&manager, chrono::Duration::days(1));
    let own = || Enrolment { boot_mac_address: OWN.to_string(), ..enrolment("first") };
    let padded = |bytes: usize| {
        let mut body = serde_json::to_vec(&own()).unwrap();
        body.resize(bytes, b' ');
        body
    };
    let word = |bytes: usize| Enrolment { serial_number: Some("x".repeat(bytes)), ..own() };
    let word = |bytes: usize| serde_json::to_vec(&word(bytes)).unwrap();
    for (body, limit) in [
        (padded(limits::ENROLMENT), None),
        (padded(limits::ENROLMENT + 1), Some("netboot_enrolment")),
        (word(limits::WORD), None),
        (word(limits::WORD + 1), Some("netboot_word")),
    ] {
        let request = http::Request::post("/agent/v1/enrol");
        let request = request.body(Body::from(body)).unwrap();
        let before = manager.all_metrics().text();
        let status = answer(&site, request, FROM, &certificates).await.status().as_u16();
        assert_eq!(status, if limit.is_some() { 400 } else { 200 }, "{limit:?}");
        let text = manager.all_metrics().text();
        for name in ["netboot_enrolment", "netboot_word"] {
            let counted = format!("firstlight_limit_reached_total{{limit=\"{name}\"}} 1\n");
            let is_new = text.contains(&counted) && !before.contains(&counted);
            assert_eq!(is_new, limit == Some(name), "{limit:?}: {text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_without_end_is_told_of_once() {
    let (manager, site) = network("provisioning", true).await;
    let agents = installs(&manager, &site).await;
    for number in 0..200 {
        let claim = Enrolment { mac_addresses: vec![MAC.to_string()], ..enrolment(&number.to_string()) };
        let claim = Enrolment { boot_mac_address: OWN.to_string(), ..claim };
        let _ = agents.enrol(&format!("hostile-{number}"), FROM.into(), &claim).await;
    }
    alerted(&manager, "MachineClaimed").await;
    let events: kube::Api<Event> = kube::Api::all(manager.client().clone());
    let events = events.list(&Default::default()).await.unwrap();
    let told = events.iter().filter(|event| event.reason.as_deref() == Some("MachineClaimed"));
    assert_eq!(told.map(|event| event.count.unwrap_or(1)).sum::<i32>(), 1);
    let objects: Objects<Agent> = manager.objects();
    assert!(objects.all().len() <= 2);
}
