//! Tests of `firstlight metal` with a server: hosts are imported, approved, switched and restarted.

#![allow(clippy::unwrap_used, reason = "tests")]

use firstlight::commands::metal::approve::approve;
use firstlight::commands::metal::hosts::gather;
use firstlight::commands::metal::import::import;
use firstlight::commands::metal::power::{restart, set_power};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde_json::{Value, json};
use server::netboot::NetbootOptions;
use server::options::ServerOptions;
use server::process::Process;
use server::reboot::RebootRequest;

use crate::place::{Place, options};

struct Server {
    place: Place,
    client: Client,
}

impl Server {
    async fn start() -> Self {
        let place = Place::start("none", &[]).await;
        let client = place.process.plane.client("test");
        Self { place, client }
    }

    async fn import(&self, file: &str, text: &str) -> Result<String, String> {
        let outcome = import(&self.client, "default", file, text, false).await;
        outcome.map_err(|error| format!("{error:#}"))
    }

    fn hosts(&self) -> Api<BareMetalHost> {
        Api::default_namespaced(self.client.clone())
    }

    async fn counts(&self) -> (usize, usize) {
        let all = ListParams::default();
        let secrets: Api<Secret> = Api::default_namespaced(self.client.clone());
        (self.hosts().list(&all).await.unwrap().items.len(), secrets.list(&all).await.unwrap().items.len())
    }

    /// Sets a status of the host, as its controller would.
    async fn status(&self, name: &str, state: &str) {
        let status = json!({ "status": {
            "operationalStatus": "OK", "errorCount": 0, "errorMessage": "", "poweredOn": true,
            "provisioning": { "ID": "", "state": state },
        } });
        let patch = Patch::Merge(status);
        self.hosts().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn annotation(&self, name: &str, key: &str) -> Option<String> {
        self.hosts().get(name).await.unwrap().annotations().get(key).cloned()
    }

    async fn post(&self, path: &str, body: &str) -> Result<Value, u16> {
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let answer = self.client.request(request.body(body.as_bytes().to_vec()).unwrap()).await;
        answer.map_err(|error| match error {
            kube::Error::Api(status) => status.code,
            other => panic!("{other}"),
        })
    }
}

const CSV: &str = "\
name,mac,address,username,password,rootDevice
# The first rack
node-1,52:54:00:12:34:56,redfish://192.0.2.7/redfish/v1/Systems/1,admin,\"hunter,2\",/dev/vda
node-2,52-54-00-12-34-57,,,,
";

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_a_list() {
    let server = Server::start().await;
    let tried = import(&server.client, "default", "hosts.csv", CSV, true).await.unwrap();
    assert_eq!(tried, "2 hosts could be created\n");
    assert_eq!(server.counts().await, (0, 0));
    let said = server.import("hosts.csv", CSV).await.unwrap();
    assert_eq!(said, "default/node-1 created\ndefault/node-2 created\n");
    assert_eq!(server.counts().await, (2, 1));
    let host = server.hosts().get("node-1").await.unwrap();
    let spec = serde_json::to_value(&host.spec).unwrap();
    let expected = json!({
        "automatedCleaningMode": "metadata",
        "bmc": { "address": "redfish://192.0.2.7/redfish/v1/Systems/1", "credentialsName": "node-1-bmc" },
        "bootMACAddress": "52:54:00:12:34:56",
        "online": true,
        "rootDeviceHints": { "deviceName": "/dev/vda" },
    });
    assert_eq!(spec, expected);
    let secrets: Api<Secret> = Api::default_namespaced(server.client.clone());
    let secret = secrets.get("node-1-bmc").await.unwrap();
    assert_eq!(secret.data.unwrap()["password"].0, b"hunter,2");
    let host = server.hosts().get("node-2").await.unwrap();
    assert_eq!(host.spec.boot_mac_address.as_deref(), Some("52:54:00:12:34:57"));
    assert_eq!(host.annotations()["metal.firstlight.dev/power"], "manual");

    let other = CSV.replace("node-1,", "node-3,");
    let taken = server.import("hosts.csv", &other).await.unwrap_err();
    assert!(
        taken.contains("hosts.csv:3: the MAC address 52:54:00:12:34:56 is that of default/node-1 already"),
        "{taken}"
    );
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_grew_creates_only_what_is_new() {
    let server = Server::start().await;
    server.import("hosts.csv", CSV).await.unwrap();
    // Somebody switched it off since.
    set_power(&server.client, "default", "node-1", false).await.unwrap();
    let grown = format!("{CSV}node-3,52:54:00:12:34:58,,,,\n");
    let tried = import(&server.client, "default", "hosts.csv", &grown, true).await.unwrap();
    assert_eq!(tried, "1 hosts could be created, 2 are unchanged\n");
    let said = server.import("hosts.csv", &grown).await.unwrap();
    assert_eq!(said, "default/node-1 unchanged\ndefault/node-2 unchanged\ndefault/node-3 created\n");
    assert_eq!(server.counts().await, (3, 1));
    for (from, to, field) in [
        ("192.0.2.7", "192.0.2.8", "address"),
        ("hunter,2", "hunter,3", "username or password"),
        ("/dev/vda", "/dev/vdb", "rootDevice"),
        ("52:54:00:12:34:56", "52:54:00:12:34:55", "mac"),
    ] {
        let changed = format!("{}node-4,52:54:00:12:34:59,,,,\n", CSV.replace(from, to));
        let error = server.import("hosts.csv", &changed).await.unwrap_err();
        assert!(
            error.contains(&format!("hosts.csv:3: the host default/node-1 is there with another {field}: ")),
            "{error}"
        );
        assert!(!error.contains("hunter"), "{error}");
        assert_eq!(server.counts().await, (3, 1), "nothing was created");
    }
    server.place.process.stop().await;
}

/// Of spreadsheets: semicolons, a mark of the encoding, and whichever letters the header has.
#[tokio::test(flavor = "multi_thread")]
async fn lists_of_spreadsheets() {
    let server = Server::start().await;
    let text = "\u{feff}Name;MAC;Address;UserName;Password;bootmode\r\n\
        node-1;52:54:00:12:34:56;redfish://192.0.2.7/redfish/v1/Systems/1;admin;hunter,2;UEFI\r\n";
    assert_eq!(server.import("hosts.csv", text).await.unwrap(), "default/node-1 created\n");
    let host = server.hosts().get("node-1").await.unwrap();
    assert_eq!(host.spec.boot_mode.as_deref(), Some("UEFI"));
    let secrets: Api<Secret> = Api::default_namespaced(server.client.clone());
    assert_eq!(secrets.get("node-1-bmc").await.unwrap().data.unwrap()["password"].0, b"hunter,2");
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_a_yaml_list() {
    let server = Server::start().await;
    let yaml = "
- name: node-1
  mac: 52:54:00:12:34:56
  power: wake-on-lan
  online: false
- {name: node-2, mac: '52:54:00:12:34:57', address: 'ipmi://192.0.2.7', username: root, password: '0123'}
";
    server.import("hosts.yaml", yaml).await.unwrap();
    let host = server.hosts().get("node-1").await.unwrap();
    assert_eq!(
        (host.spec.online, host.annotations()["metal.firstlight.dev/power"].as_str()),
        (false, "wake-on-lan")
    );
    assert_eq!(server.counts().await, (2, 1));
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_wrong_line_and_nothing_is_created() {
    let server = Server::start().await;
    let csv = |line: &str| {
        format!("name,mac,address,username,password,online\nnode-1,52:54:00:00:00:01,,,,\n{line}\n")
    };
    for (line, expected) in [
        ("node-2,,,,,", "hosts.csv:3: without a BMC the host is known by its MAC address: fill in mac"),
        (",52:54:00:00:00:02,,,,", "hosts.csv:3: the host has no name: fill in name"),
        ("node-1,52:54:00:00:00:02,,,,", "hosts.csv:3: line 2 has a host default/node-1 already"),
        ("node-2,52:54:00:00:00:01,,,,", "hosts.csv:3: line 2 has the MAC address 52:54:00:00:00:01 already"),
        (
            "node-2,52:54:00:00:00:02,192.0.2.7,admin,hunter2,",
            "hosts.csv:3: address: \"192.0.2.7\" does not say whether the BMC speaks Redfish or IPMI: write \
             redfish://192.0.2.7/redfish/v1/Systems/1 or ipmi://192.0.2.7",
        ),
        (
            "node-2,52:54:00:00:00:02,ipmi://192.0.2.7,admin,,",
            "hosts.csv:3: the BMC needs user and password: fill in password",
        ),
        (
            "node-2,52:54:00:00:00:02,,,hunter2,",
            "hosts.csv:3: username and password are those of a BMC: fill in its address too",
        ),
        (
            "node-2,52:54:00:00:00:02",
            "hosts.csv:3: 2 values where the header has 6 columns: each separator counts, also of empty ones",
        ),
        ("node-2,52:54:00:00:00:02,,,,hunter2", "hosts.csv:3: provided string was not `true` or `false`"),
        (
            "node-2,52:54,,,,",
            "hosts.csv:3: mac: \"52:54\" is not a MAC address: write it as 52:54:00:12:34:56",
        ),
        ("node-2,52:54:00:00:00:0g,,,,", "hosts.csv:3: mac: \"52:54:00:00:00:0g\" is not a MAC address"),
        (
            "node-2,52:54:00:00:00:02,irmc://192.0.2.7,admin,hunter2,",
            "hosts.csv:3: BareMetalHost node-2: BareMetalHost.metal3.io \"node-2\" is invalid: spec.bmc.address: \
             Invalid value: \"irmc://192.0.2.7\": unknown scheme \"irmc\": use one of ipmi, ",
        ),
        ("node_2,52:54:00:00:00:02,,,,", "hosts.csv:3: BareMetalHost node_2: "),
    ] {
        let error = server.import("hosts.csv", &csv(line)).await.unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
        assert!(!error.contains("hunter2"), "{line}: {error}");
        assert_eq!(server.counts().await, (0, 0), "{line}");
    }
    for (file, text, expected) in [
        ("hosts.csv", "name,nic\na,b\n", "unknown field `nic`"),
        ("hosts.csv", "name,mac\n", "hosts.csv lists no host"),
        (
            "hosts.csv",
            "name,mac,architecture\na,52:54:00:00:00:02,arm64\n",
            "\"arm64\" is not known: write aarch64",
        ),
        (
            "hosts.csv",
            "name,mac,architecture\na,52:54:00:00:00:02,AMD64\n",
            "\"AMD64\" is not known: write x86_64",
        ),
        ("hosts.csv", "name,mac,architecture\na,52:54:00:00:00:02,riscv64\n", "it is x86_64 or aarch64"),
        ("hosts.txt", "", "must end in .csv, .yaml, .yml or .json"),
        ("hosts.yaml", "- name: a\n  nic: b\n", "nic"),
        ("hosts.yaml", "- name: a\n  password: [hunter2]\n", "password must be text"),
        ("hosts.yaml", "- name: a\n  online: hunter2\n", "hosts.yaml:2: "),
        ("hosts.yaml", "name: a\n", "hosts.yaml:1: "),
    ] {
        let error = server.import(file, text).await.unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains("hunter2"), "{text}: {error}");
    }
    let elsewhere = import(&server.client, "nowhere", "hosts.csv", CSV, false).await.unwrap_err().to_string();
    assert!(elsewhere.contains("namespaces \"nowhere\" not found"), "{elsewhere}");
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn power_and_restarts() {
    let server = Server::start().await;
    server.import("hosts.csv", CSV).await.unwrap();
    let client = &server.client;
    let said = set_power(client, "default", "node-1", false).await.unwrap();
    assert_eq!(said, "default/node-1 is being switched off\n");
    assert!(!server.hosts().get("node-1").await.unwrap().spec.online);
    let said = set_power(client, "default", "node-2", false).await.unwrap();
    assert_eq!(said, "noted that default/node-2 was switched off\n");
    assert_eq!(server.annotation("node-2", "metal.firstlight.dev/powered").await.as_deref(), Some("off"));
    assert!(server.hosts().get("node-2").await.unwrap().spec.online);
    let unknown = set_power(client, "default", "node-3", true).await.unwrap_err().to_string();
    assert!(unknown.starts_with("there is no BareMetalHost default/node-3"), "{unknown}");
    let bare = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": { "name": "node-4" }, "spec": { "online": true },
    });
    let bare: BareMetalHost = serde_json::from_value(bare).unwrap();
    server.hosts().create(&PostParams::default(), &bare).await.unwrap();
    let unmanaged = set_power(client, "default", "node-4", true).await.unwrap_err().to_string();
    assert!(unmanaged.contains("its power is not managed"), "{unmanaged}");

    let soft = RebootRequest::default();
    let hard = RebootRequest { mode: "hard".to_owned(), force: true, ..soft.clone() };
    let early = restart(client, "default", "node-1", &soft).await.unwrap_err().to_string();
    assert!(early.contains("nothing is known of the host's power"), "{early}");
    server.status("node-1", "available").await;
    let refused = restart(client, "default", "node-1", &soft).await.unwrap_err().to_string();
    assert!(refused.ends_with("set force to true"), "{refused}");
    assert_eq!(server.annotation("node-1", "reboot.metal3.io").await, None);
    server.status("node-1", "provisioned").await;
    restart(client, "default", "node-1", &soft).await.unwrap();
    assert_eq!(server.annotation("node-1", "reboot.metal3.io").await.as_deref(), Some(""));
    restart(client, "default", "node-1", &hard).await.unwrap();
    let value = server.annotation("node-1", "reboot.metal3.io").await;
    assert_eq!(value.as_deref(), Some(r#"{"force":true,"mode":"hard"}"#));
    server.status("node-2", "provisioned").await;
    let by_hand = restart(client, "default", "node-2", &soft).await.unwrap();
    assert!(by_hand.starts_with("default/node-2 has no BMC: if an agent runs on it"), "{by_hand}");
    let unmanaged = restart(client, "default", "node-4", &soft).await.unwrap_err().to_string();
    assert!(unmanaged.contains("its power is not managed"), "{unmanaged}");
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_subresource_answers_as_others_do() {
    let server = Server::start().await;
    server.import("hosts.csv", CSV).await.unwrap();
    server.status("node-1", "provisioned").await;
    let base = "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts";
    let host = server.post(&format!("{base}/node-1/reboot?dryRun=All"), "").await.unwrap();
    assert_eq!(host["metadata"]["annotations"]["reboot.metal3.io"], "");
    assert_eq!(server.annotation("node-1", "reboot.metal3.io").await, None);
    for (name, body, code) in [
        ("node-9", "", 404),
        ("node-1", r#"{"mode":"warm"}"#, 422),
        ("node-1", "hard", 400),
        ("node-2", "", 409),
    ] {
        assert_eq!(server.post(&format!("{base}/{name}/reboot"), body).await, Err(code), "{name} {body}");
    }
    let get = http::Request::get(format!("{base}/node-1/reboot")).body(Vec::new()).unwrap();
    assert!(server.client.request::<Value>(get).await.is_err());
    let listed = http::Request::get("/apis/metal3.io/v1alpha1").body(Vec::new()).unwrap();
    let listed: Value = server.client.request(listed).await.unwrap();
    let resources = listed["resources"].as_array().unwrap();
    let reboot = resources.iter().find(|one| one["name"] == "baremetalhosts/reboot").unwrap();
    assert_eq!((&reboot["kind"], &reboot["verbs"]), (&json!("Reboot"), &json!(["create"])));
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_machines_are_approved() {
    let server = Server::start().await;
    let agents: Api<Agent> = Api::all(server.client.clone());
    let agent = |name: &str, spec: Value| {
        let agent = json!({
            "apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent",
            "metadata": { "name": name }, "spec": spec,
        });
        serde_json::from_value::<Agent>(agent).unwrap()
    };
    let known = json!({ "hostRef": { "namespace": "default", "name": "node-1" } });
    for agent in [agent("52-54-00-00-00-01", known), agent("52-54-00-00-00-0a", json!({}))] {
        agents.create(&PostParams::default(), &agent).await.unwrap();
    }
    let report = gather(&server.client, None).await.unwrap();
    let names: Vec<&str> = report.machines.iter().map(|machine| machine.name.as_str()).collect();
    assert_eq!((report.hosts.len(), names), (0, vec!["52-54-00-00-00-0a"]));
    let said = approve(&server.client, "52:54:00:00:00:0A").await.unwrap();
    assert_eq!(said, "52-54-00-00-00-0a approved\n");
    assert_eq!(agents.get("52-54-00-00-00-0a").await.unwrap().spec.approved, Some(true));
    assert!(gather(&server.client, None).await.unwrap().machines[0].approved);
    let again = approve(&server.client, "52-54-00-00-00-0a").await.unwrap();
    assert_eq!(again, "52-54-00-00-00-0a is approved already\n");
    let known = approve(&server.client, "52-54-00-00-00-01").await.unwrap();
    let expected =
        "52-54-00-00-00-01 approved: the machine that waits to enrol as host default/node-1 may enrol\n";
    assert_eq!(known, expected);
    let error = approve(&server.client, "52-54-00-00-00-02").await.unwrap_err().to_string();
    assert!(error.contains("no machine is called 52-54-00-00-00-02"), "{error}");
    let wrong = agent("52-54-00-00-00-03", json!({ "instruction": { "id": "1", "action": "Deploy" } }));
    let error = agents.create(&PostParams::default(), &wrong).await.unwrap_err().to_string();
    assert!(error.contains("Deploy needs an image: set image"), "{error}");
    server.place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_start_machines_does_not_start_at_all() {
    let place = tempfile::tempdir().unwrap();
    let options = |interface: &str| ServerOptions {
        netboot: NetbootOptions { interfaces: vec![interface.to_owned()], ..NetbootOptions::default() },
        ..options(place.path(), "none", &[])
    };
    for (interface, expected) in [
        ("eth77", "there is no interface \"eth77\"; this machine has "),
        ("lo", "there is no kernel to boot machines with: "),
    ] {
        let error = Process::start(&options(interface)).await.err().map(|error| format!("{error:#}"));
        assert!(error.as_ref().is_some_and(|error| error.starts_with(expected)), "{interface}: {error:?}");
        assert!(!place.path().join("kubeconfig").exists(), "nobody is told of a server that is not there");
    }
    // The failed start has released the directory.
    let process = Process::start(&self::options(place.path(), "none", &[])).await.unwrap();
    process.stop().await;
}
