//! Networks of Pods, of the whole program.

use std::io::{Read, Write};
use std::net::TcpListener;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};

use super::program::{CERTIFICATES, PORT, ROLE, WEBHOOK_PORT};
use super::*;

impl Machine {
    /// Creates a Deployment that runs a test of this program in its Pod.
    async fn deploy_program(&self, name: &str, test: &str, role: &str, more: Value) {
        self.deploy_test(name, &format!("program::{test}"), role, more).await;
    }

    pub(super) async fn deploy_test(&self, name: &str, test: &str, role: &str, more: Value) {
        let arguments = ["--exact", &format!("pods::{test}"), "--nocapture"];
        let mut container = json!({
            "command": [image::PROGRAM], "args": arguments, "env": [{"name": ROLE, "value": role}],
        });
        merge(&mut container, &more["container"]);
        self.deploy(name, "", json!({"container": container, "spec": more["spec"]})).await;
    }

    async fn apply<K>(&self, api: Api<K>, object: Value)
    where
        K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
    {
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn service(&self, name: &str, port: u16) {
        let service = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 443, "targetPort": port}]},
        });
        self.apply(Api::<Service>::namespaced(self.client.clone(), NAMESPACE), service).await;
    }

    /// Makes a webhook in a Pod with an image that has this test program. It refuses every ConfigMap.
    pub(super) async fn make_webhook(&self, image: &str) {
        let kind = |kind: &str| {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("cert-manager.io", "v1", kind));
            Api::<DynamicObject>::namespaced_with(self.client.clone(), NAMESPACE, &resource)
        };
        let issuer = json!({
            "apiVersion": "cert-manager.io/v1", "kind": "Issuer",
            "metadata": {"name": "own"}, "spec": {"selfSigned": {}},
        });
        self.apply(kind("Issuer"), issuer).await;
        let certificate = json!({
            "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "hook"},
            "spec": {
                "dnsNames": ["hook.shell-system.svc"], "secretName": "hook",
                "issuerRef": {"name": "own", "kind": "Issuer"},
            },
        });
        self.apply(kind("Certificate"), certificate).await;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        wait(async || Ok(secrets.get_opt("hook").await?)).await.unwrap();
        let mounted = json!({
            "container": {
                "image": image,
                "command": ["/bin/sh", "-c", "exec program --exact pods::program::server --nocapture"],
                "args": [],
                "env": [{"name": ROLE, "value": "hook"}, {"name": CERTIFICATES, "value": "/certificates"}],
                "volumeMounts": [{"name": "certificates", "mountPath": "/certificates"}],
                "readinessProbe": {"tcpSocket": {"port": WEBHOOK_PORT}},
            },
            "spec": {"volumes": [{"name": "certificates", "secret": {"secretName": "hook"}}]},
        });
        self.deploy_program("hook", "server", "hook", mounted).await;
        self.service("hook", WEBHOOK_PORT).await;
        self.pod("hook", "ready", is_ready).await;
        let configuration = json!({
            "metadata": {
                "name": "hook", "annotations": {"cert-manager.io/inject-ca-from": "shell-system/hook"},
            },
            "webhooks": [{
                "name": "hook.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": {"service": {"name": "hook", "namespace": NAMESPACE, "path": "/"}},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
                }],
            }],
        });
        self.apply(Api::<ValidatingWebhookConfiguration>::all(self.client.clone()), configuration).await;
    }

    /// Waits until the webhook has refused a ConfigMap.
    pub(super) async fn refuses(&self) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "default");
        let mut last = String::new();
        let refused = wait(async || {
            let map = serde_json::from_value(json!({"metadata": {"generateName": "refused-"}}))?;
            last = match maps.create(&PostParams::default(), &map).await {
                Ok(_) => "it was created".to_owned(),
                Err(error) => error.to_string(),
            };
            Ok(last.contains("refused inside of a Pod").then_some(()))
        });
        let refused = refused.await;
        refused.unwrap_or_else(|error| panic!("{error}: {last}\n{}", self.server.log()));
    }
}

/// Returns whether this machine allows networks of Pods. Root must be able to make them; others need user namespaces.
fn has_networks() -> bool {
    let makes = || std::process::Command::new("unshare").args(["--user", "--net", "true"]).status();
    let opens = || std::fs::File::options().read(true).write(true).open("/dev/net/tun").is_ok();
    let is_allowed = opens() && makes().is_ok_and(|status| status.success());
    assert!(is_allowed || std::env::var_os("CI").is_none(), "these tests need networks of Pods");
    if !is_allowed {
        println!("skipped: this machine allows no networks of Pods");
    }
    is_allowed
}

/// A listener on an address that others can reach, which says something to everybody, and its address.
fn listener() -> String {
    // Nothing is sent: the kernel only says which of its addresses it would use.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").expect("this machine has no route to anywhere");
    let listener = TcpListener::bind((socket.local_addr().unwrap().ip(), 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // What is not read would end the connection with an error.
            let _ = stream.read(&mut [0; 512]).unwrap();
            stream.write_all(b"another machine").ok();
        }
    });
    address
}

#[tokio::test]
async fn pods_have_networks_of_their_own() {
    if !has_networks() {
        return;
    }
    let machine = Machine::start_with(true).await;
    let probed = json!({"container": {"readinessProbe": {"tcpSocket": {"port": PORT}}}});
    machine.deploy_program("one", "server", "one", probed.clone()).await;
    machine.deploy_program("two", "server", "two", probed).await;
    machine.service("one", PORT).await;
    let one = machine.pod("one", "ready", is_ready).await;
    let two = machine.pod("two", "ready", is_ready).await;
    let address = |pod: &Pod| pod.status.clone().and_then(|status| status.pod_ip).unwrap();
    assert_ne!(address(&one), address(&two));
    for (pod, expected) in [(&one, "I am one"), (&two, "I am two")] {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{}:{PORT}/proxy/", pod.name_any());
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        assert_eq!(machine.client.request_text(request).await.unwrap(), expected);
    }

    machine.deploy_program("client", "client", &listener(), json!({})).await;
    let client = machine.pod("client", "ready", is_ready).await;
    let log = machine.logged(&client, "asked everything").await;
    for line in [
        "user system:serviceaccount:shell-system:default",
        "service Ok(\"I am one\")",
        "short name Ok(\"I am one\")",
        "outside Ok(\"another machine\")",
        "loopback Err(ConnectionRefused)",
    ] {
        assert!(log.contains(line), "{line} is missing in\n{log}");
    }

    let host = json!({"spec": {"hostNetwork": true}});
    machine.deploy("host", "echo $KUBERNETES_SERVICE_HOST; while true; do sleep 1; done", host).await;
    let host = machine.pod("host", "ready", is_ready).await;
    assert_eq!(address(&host), "127.0.0.1");
    machine.logged(&host, "127.0.0.1").await;
}

#[tokio::test]
async fn webhooks_are_called_inside() {
    if has_networks() {
        let machine = Machine::start_with(true).await;
        machine.make_webhook(image::NAME).await;
        machine.refuses().await;
    }
}

#[tokio::test]
async fn webhooks_are_called_on_this_machine() {
    let options = ["--store", "memory", "--container-isolation", "none"];
    let machine = Machine::start_as(true, &options).await;
    machine.make_webhook(image::NAME).await;
    machine.refuses().await;
}
/// The processes of this machine that have this parent.
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let found = processes.into_iter().filter_map(|process| {
        let status = std::fs::read_to_string(process.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        let number = process.file_name().to_string_lossy().parse().ok()?;
        (line.trim() == parent.to_string()).then_some(number)
    });
    found.collect()
}

#[tokio::test]
async fn no_network_outlives_the_server() {
    if !has_networks() {
        return;
    }
    let mut machine = Machine::start().await;
    machine.deploy("lonely", "echo here; while true; do sleep 1; done", json!({})).await;
    let pod = machine.pod("lonely", "ready", is_ready).await;
    // Before that, its process may not be in its network yet.
    machine.logged(&pod, "here").await;
    let network = |process: u32| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let own = network(std::process::id());
    let before = children(machine.server.id().unwrap());
    let networks: Vec<_> = before.iter().filter_map(|process| network(*process)).collect();
    assert!(networks.iter().any(|network| Some(network) != own.as_ref()), "the Pod has no network");
    machine.server.kill().await.unwrap();
    let gone = wait(async || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|process| process.file_name().to_string_lossy().parse().ok());
        let remains = numbers
            .filter_map(network)
            .any(|network| Some(&network) != own.as_ref() && networks.contains(&network));
        Ok((!remains).then_some(()))
    });
    gone.await.unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("nsfs"), "{mounts}");
}
