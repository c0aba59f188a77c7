//! Reports of installed systems about their bootstrap, over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use engine::{Manager, NamespacedName, Objects};
use metal::bootstrap::{BootstrapReport, BootstrapState};
use metal_boot::machine::Directory;
use metal_provisioning::directory::Kube;
use metal_provisioning::http::site::Site;
use metal_provisioning::limits;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde_json::{Value, json};

use crate::metal_provisioning::api::{
    ADDRESS, HTTP, MAC, MINE, create, enrolment, host, is_host, lease, manager, services,
};
use crate::metal_provisioning::asking::{answer, ask};

/// A host whose system has its configuration drive.
struct Installed {
    manager: Manager,
    site: Site,
    hosts: Objects<BareMetalHost>,
    key: NamespacedName,
    path: String,
}

impl Installed {
    async fn new() -> Self {
        let manager = manager().await;
        let (hosts, key) = host(&manager, "provisioned").await;
        Kube::start(&manager, false).await.write_lease(lease(&manager)).await.unwrap();
        let site = services(&manager).await;
        let agents = site.agents.clone().unwrap();
        agents.enrol("aa", IpAddr::from(ADDRESS), &enrolment("first")).await.unwrap();
        is_host(&manager).await;
        let mut installed = Self { manager, site, hosts, key, path: String::new() };
        installed.path = installed.drive("deploy/1").await;
        installed
    }

    /// Has the drive written by the instruction `id`, and returns the path for reports on it.
    async fn drive(&self, id: &str) -> String {
        let agents: Objects<Agent> = self.manager.objects();
        let instruction = json!({ "id": id, "action": "Deploy", "configDrive": true, "bootID": "first",
            "image": { "url": "http://10.0.0.1/image" } });
        let agent = NamespacedName::new("", MAC.dashed());
        agents.merge(&agent, None, json!({ "spec": { "instruction": instruction } })).await.unwrap();
        let drive = self.site.agents.as_ref().unwrap().config_drive("aa", HTTP).await.unwrap().unwrap();
        let meta_data: Value = serde_json::from_str(&drive.files["openstack/latest/meta_data.json"]).unwrap();
        let url = meta_data["phone_home_url"].as_str().unwrap().to_owned();
        let vendor: Value = serde_json::from_str(&drive.files["openstack/latest/vendor_data.json"]).unwrap();
        let program = vendor["cloud-init"].as_str().unwrap();
        assert!(program.contains(&url));
        assert!(program.contains("[host.\\\"https://10.0.0.1:8443\\\"]"), "{program}");
        self.manager.clock().sleep(Duration::from_secs(1)).await;
        url.strip_prefix(HTTP).unwrap().to_owned()
    }

    async fn post(&self, path: &str, body: impl Into<Bytes>, from: [u8; 4]) -> u16 {
        let request = http::Request::post(path).body(Body::from(body.into())).unwrap();
        let status = answer(&self.site, request, from, &[]).await.status().as_u16();
        self.manager.clock().sleep(Duration::from_secs(2)).await;
        status
    }

    async fn report(&self, state: &str, message: &str) -> u16 {
        let body = json!({ "state": state, "stage": "kubeadm certs", "message": message });
        self.post(&self.path, body.to_string(), MINE).await
    }

    fn recorded(&self) -> Option<BootstrapReport> {
        BootstrapReport::of(&self.hosts.get(&self.key).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn reports_are_recorded_until_the_last_one() {
    let installed = Installed::new().await;
    assert_eq!(installed.report("Running", "[certs] Generating \"ca\"").await, 204);
    let record = installed.recorded().unwrap();
    assert_eq!(
        (record.state, record.stage.as_str(), record.number),
        (BootstrapState::Running, "kubeadm certs", 1)
    );
    let text = "error: no\n--token abcdef.0123456789abcdef\u{1b}[0m";
    assert_eq!(installed.report("Failed", text).await, 204);
    let record = installed.recorded().unwrap();
    assert_eq!(
        (record.state, record.message.as_str()),
        (BootstrapState::Failed, "error: no\n--token [masked]")
    );
    assert_eq!(installed.report("Failed", "again").await, 204, "the answer was lost");
    assert_eq!(installed.report("Succeeded", "").await, 404, "the token has ended");
    assert_eq!(installed.recorded(), Some(record));

    // The host is provisioned again.
    let again = json!({ "status": { "operationHistory": { "provision": { "start": "2026-11-22T09:02:00Z", "end": null } } } });
    installed.manager.clock().sleep(Duration::from_secs(180)).await;
    installed.hosts.merge(&installed.key, Some("status"), again).await.unwrap();
    assert_eq!(installed.report("Succeeded", "").await, 404, "the token was of the provisioning before");
    let path = installed.drive("deploy/2").await;
    assert_ne!(path, installed.path);
    let host = installed.hosts.get(&installed.key).unwrap();
    assert_eq!(engine::object::annotation(host.as_ref(), metal::names::BOOTSTRAP), None);
    assert_eq!(installed.post(&path, r#"{"state":"Succeeded"}"#, MINE).await, 204);
    assert_eq!(installed.recorded().unwrap().state, BootstrapState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn strangers_learn_nothing() {
    let installed = Installed::new().await;
    let other = json!({ "metadata": { "name": "node-2", "namespace": "default" },
        "spec": { "online": true, "bootMACAddress": "52:54:00:00:00:02" } });
    create(&installed.hosts, other).await;
    let mut of_other = lease(&installed.manager);
    of_other.mac.0[5] = 2;
    of_other.address = [10, 0, 0, 10].into();
    Kube::start(&installed.manager, false).await.write_lease(of_other).await.unwrap();
    let installed = Installed { site: services(&installed.manager).await, ..installed };
    let good = r#"{"state":"Running"}"#;
    for (path, body, from, expected) in [
        ("/metadata/0123/bootstrap", good, MINE, 404),
        ("/metadata//bootstrap", good, MINE, 404),
        ("/bootstrap", good, MINE, 405),
        (installed.path.as_str(), good, [10, 0, 0, 10], 404),
        (&installed.path, "{", MINE, 400),
        (&installed.path, r#"{"state":"Lost"}"#, MINE, 400),
        (&installed.path, good, MINE, 204),
        (&installed.path, good, [192, 0, 2, 1], 204),
    ] {
        assert_eq!(installed.post(path, body, from).await, expected, "{path} {body} {from:?}");
    }
    assert_eq!(ask(&installed.site, &installed.path, MINE).await.0, 404, "it is not read");
    for more in [-1_i64, 0, 1] {
        let length = (limits::BOOTSTRAP_REPORT as i64 + more) as usize;
        let body = format!("{good}{}", " ".repeat(length - good.len()));
        let expected = if more > 0 { 400 } else { 204 };
        assert_eq!(installed.post(&installed.path, body, MINE).await, expected, "{length}");
    }
}
