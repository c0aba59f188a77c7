//! The webhooks of `firstlight controllers`, called by an API server that knows nothing of Cluster API, with the objects and permissions of an
//! installation.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::{Rbac, User};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Parser;
use engine::Manager;
use firstlight::cli::{Cli, Command};
use firstlight::install::{carried_over, definitions, install};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client, Config};
use machinery::clock::Clock;
use machinery::random::Random;
use net::{BoxStream, Dial};
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf};
use registry::Registry;
use schemas::admission::Features;
use serde_json::{Value, json};
use server::admission::ClusterApiAdmission;
use server::controllers::Selection;
use server::installed::NAMESPACE;
use server::testing::REVIEW_BYTES;
use server::webhooks::{CONFIGURATION, CONVERSION, DEFAULTS, RULES, SECRET, WebhookOptions, Webhooks};
use serving::Server;
use store::{Memory, Store};
use tokio::net::TcpStream;
use webhook::HttpsCaller;

use crate::classes::{class, cluster};
use crate::place::Place;

const GROUP: &str = "infrastructure.cluster.x-k8s.io";
const DEADLINE: Duration = Duration::from_secs(60);

/// The network of the cluster's Pods, of which all are on this machine.
struct Pods;

impl Dial for Pods {
    fn dial<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        async move { Ok(Box::new(TcpStream::connect(("127.0.0.1", port)).await?) as BoxStream) }.boxed()
    }
}

/// An API server without Cluster API, in which firstlight is installed.
struct Cluster {
    server: Server,
    administrator: Client,
}

impl Cluster {
    async fn new() -> Self {
        let clock = Clock::system();
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let rbac = Rbac::new(store.clone());
        let options = registry::Options {
            webhooks: Some(Arc::new(HttpsCaller::over(Arc::new(Pods), clock.clone()))),
            admission: vec![Arc::new(rbac.clone())],
            ..registry::Options::default()
        };
        let registry = Registry::open(store, clock.clone(), Random::system(), options).await.unwrap();
        let server = Server::builder(registry, clock.clone()).authorizer(rbac).build();
        let administrator = Client::new(server.client_service(User::master("administrator")), "default");
        let cluster = Self { server, administrator };
        install(
            &cluster.administrator,
            "firstlight:test",
            &carried_over(Selection::all(), false),
            None,
            false,
            &clock,
        )
        .await
        .unwrap();
        for definition in definitions().unwrap() {
            // Some are there already.
            drop(cluster.create(&definition).await);
        }
        cluster
    }

    /// Starts the webhooks of a process with the installed service account.
    async fn webhooks(&self) -> (Manager, Webhooks) {
        self.webhooks_with(&[]).await
    }

    async fn webhooks_with(&self, flags: &[&str]) -> (Manager, Webhooks) {
        let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{NAMESPACE}")];
        let account = User::new(format!("system:serviceaccount:{NAMESPACE}:firstlight-controllers"), groups);
        let client = Client::new(self.server.client_service(account), NAMESPACE);
        let manager = server::connection::manager(client);
        let features = Features { cluster_topology: true, ..Features::default() };
        let rules = ClusterApiAdmission { features, ..ClusterApiAdmission::default() };
        let webhooks =
            Webhooks::start(&options(flags), &manager, Some(NAMESPACE), rules).await.unwrap().unwrap();
        (manager, webhooks)
    }

    /// Does what the cluster's EndpointSlice controller does for the Service.
    async fn route(&self, to: SocketAddr) {
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "webhooks", "namespace": NAMESPACE,
                "labels": {"kubernetes.io/service-name": "firstlight-webhooks"}},
            "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": true}}],
            "ports": [{"name": "webhooks", "port": to.port(), "protocol": "TCP"}],
        });
        self.create(&slice).await.unwrap();
    }

    async fn registered(&self) {
        let registered = async {
            for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
                let api = any(&self.administrator, "admissionregistration.k8s.io/v1", kind, None);
                while api.get(CONFIGURATION).await.unwrap().data["webhooks"].is_null() {
                    tokio::task::yield_now().await;
                }
            }
        };
        tokio::time::timeout(DEADLINE, registered).await.unwrap();
    }

    async fn create(&self, object: &Value) -> Result<Value, String> {
        create(&self.administrator, object).await
    }
}

fn options(flags: &[&str]) -> WebhookOptions {
    let arguments = ["firstlight", "controllers", "--webhook-address", "127.0.0.1:0"];
    let arguments = arguments.iter().chain(flags);
    let Command::Controllers(options) = Cli::parse_from(arguments).command else { panic!("not controllers") };
    options.webhooks
}

/// A client of the webhooks, as anybody in the network of Pods can be one.
fn client_of(webhooks: SocketAddr) -> Client {
    let mut config = Config::new(format!("https://{webhooks}").parse().unwrap());
    config.accept_invalid_certs = true;
    Client::try_from(config).unwrap()
}

/// A client of the webhooks with a certificate.
fn certified_client_of(webhooks: SocketAddr, identity: &Identity) -> Client {
    let encoded = |pem: &str| Some(STANDARD.encode(pem));
    let mut config = Config::new(format!("https://{webhooks}").parse().unwrap());
    config.accept_invalid_certs = true;
    config.auth_info.client_certificate_data = encoded(&identity.certificate);
    config.auth_info.client_key_data = encoded(&identity.key).map(Into::into);
    Client::try_from(config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_with_a_certificate_ask_for_admission_if_that_is_wanted() {
    let (clock, random) = (Clock::system(), Random::system());
    let authority =
        || CertificateAuthority::generate("ca", KeyAlgorithm::default(), None, clock.now(), &random).unwrap();
    let client_of_authority = |authority: &CertificateAuthority| {
        let leaf = Leaf::client("kube-apiserver", &[]);
        authority.issue(&leaf, clock.now(), &random).unwrap()
    };
    let (own, foreign) = (authority(), authority());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &own.identity().certificate).unwrap();
    let cluster = Cluster::new().await;
    let (_manager, webhooks) = cluster.webhooks_with(&["--webhook-client-ca", file.to_str().unwrap()]).await;
    let anybody = client_of(webhooks.address);
    let certified = certified_client_of(webhooks.address, &client_of_authority(&own));
    let stranger = certified_client_of(webhooks.address, &client_of_authority(&foreign));
    for path in [DEFAULTS, RULES] {
        let (code, text) = ask(&anybody, "POST", path, b"{}".to_vec()).await.unwrap();
        assert_eq!(code, 401, "{text}");
        assert!(text.contains("--webhook-client-ca"), "{text}");
        assert_eq!(ask(&certified, "POST", path, b"{}".to_vec()).await.unwrap().0, 400);
        assert_eq!(ask(&stranger, "POST", path, b"{}".to_vec()).await, None);
    }
    // An API server has no certificate for conversions.
    assert_eq!(ask(&anybody, "POST", CONVERSION, b"{}".to_vec()).await.unwrap().0, 400);
}

/// Returns code and text of the answer to a request; `None` if the connection ends first.
async fn ask(client: &Client, method: &str, path: &str, body: Vec<u8>) -> Option<(u16, String)> {
    let request = http::Request::builder().method(method).uri(path);
    let answer = client.send(request.body(kube::client::Body::from(body)).unwrap()).await.ok()?;
    let code = answer.status().as_u16();
    Some((code, String::from_utf8(answer.into_body().collect_bytes().await.ok()?.to_vec()).unwrap()))
}

fn any(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let plural = engine::contract::plural(kind);
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

async fn create(client: &Client, object: &Value) -> Result<Value, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = object["metadata"]["namespace"].as_str();
    let api = any(client, &text(&object["apiVersion"]), &text(&object["kind"]), namespace);
    let created = api.create(&PostParams::default(), &serde_json::from_value(object.clone()).unwrap()).await;
    match created {
        Ok(created) => Ok(serde_json::to_value(created).unwrap()),
        Err(kube::Error::Api(status)) => Err(status.message),
        Err(error) => panic!("{error}"),
    }
}

fn object(version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{GROUP}/{version}"), "kind": kind,
        "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

/// Writes of all outcomes: refused, with defaults, as they are; in both versions.
fn writes() -> Vec<Value> {
    let image = json!({"url": "http://x/y", "checksum": "http://x/z"});
    vec![
        object(
            "v1beta2",
            "Metal3Machine",
            "bad",
            json!({"image": {"url": "http://x/y", "checksum": "http://x y"}}),
        ),
        object("v1beta1", "Metal3Machine", "older-bad", json!({"image": {"url": "", "checksum": ""}})),
        object("v1beta2", "Metal3Machine", "good", json!({"image": image})),
        object(
            "v1beta1",
            "Metal3Machine",
            "older",
            json!({"image": image, "automatedCleaningMode": "metadata"}),
        ),
        object(
            "v1beta2",
            "Metal3RemediationTemplate",
            "defaults",
            json!({"template": {"spec": {"strategy": {}}}}),
        ),
        object(
            "v1beta1",
            "Metal3RemediationTemplate",
            "older-defaults",
            json!({"template": {"spec": {"strategy": {}}}}),
        ),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "machine", "namespace": "default"},
            "spec": {"clusterName": "one", "version": "1.36.0", "bootstrap": {"dataSecretName": "data"},
                "infrastructureRef": {"apiGroup": GROUP, "kind": "Metal3Machine", "name": "good"}}}),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "older-machine", "namespace": "default"},
            "spec": {"clusterName": "one", "version": "1.36.0", "nodeDrainTimeout": "90s", "bootstrap": {"dataSecretName": "data"},
                "infrastructureRef": {"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Metal3Machine", "name": "good"}}}),
        json!({"apiVersion": "ipam.cluster.x-k8s.io/v1alpha1", "kind": "IPAddressClaim",
            "metadata": {"name": "claim", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "one"}},
            "spec": {"poolRef": {"apiGroup": "ipam.test", "kind": "Pool", "name": "pool"}}}),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_answers_as_the_server_of_this_program() {
    let cluster = Cluster::new().await;
    let (manager, webhooks) = cluster.webhooks().await;
    cluster.route(webhooks.address).await;
    webhooks.register(&manager);
    cluster.registered().await;
    let place = Place::start("none", &[]).await;
    let own = place.process.plane.client("administrator");
    let mut refused = 0;
    for write in writes() {
        match (cluster.create(&write).await, create(&own, &write).await) {
            (Err(why), Err(expected)) => {
                let expected =
                    format!("admission webhook \"rules.firstlight.dev\" denied the request: {expected}");
                assert_eq!(why, expected);
                refused += 1;
            }
            (Ok(found), Ok(expected)) => {
                assert_eq!(found["apiVersion"], write["apiVersion"]);
                for part in ["/spec", "/metadata/labels", "/metadata/annotations"] {
                    assert_eq!(found.pointer(part), expected.pointer(part), "{part} of {write}");
                }
            }
            (found, expected) => panic!("{found:?} {expected:?}"),
        }
    }
    assert_eq!(refused, 2);

    let get = async |version: &str, kind: &str, name: &str| {
        let api = any(&cluster.administrator, &format!("{GROUP}/{version}"), kind, Some("default"));
        serde_json::to_value(api.get(name).await.unwrap()).unwrap()
    };
    let defaults = get("v1beta2", "Metal3RemediationTemplate", "defaults").await;
    assert_eq!(defaults["spec"]["template"]["spec"]["strategy"]["type"], "Reboot");
    let stored = get("v1beta2", "Metal3Machine", "older").await;
    assert_eq!(stored["spec"]["image"]["url"], "http://x/y");
    let older = get("v1beta1", "Metal3Machine", "older").await;
    assert_eq!(older["spec"], writes()[3]["spec"]);
    let list = any(&cluster.administrator, &format!("{GROUP}/v1beta1"), "Metal3Machine", Some("default"));
    let list = list.list(&Default::default()).await.unwrap();
    assert_eq!(list.items.len(), 2);
    let read = async |api_version: &str, kind: &str, name: &str| {
        let api = any(&cluster.administrator, api_version, kind, Some("default"));
        serde_json::to_value(api.get(name).await.unwrap()).unwrap()
    };
    let machine = read("cluster.x-k8s.io/v1beta2", "Machine", "older-machine").await;
    assert_eq!(machine["spec"]["deletion"]["nodeDrainTimeoutSeconds"], 90);
    assert_eq!(machine["spec"]["infrastructureRef"]["apiGroup"], GROUP);
    let machine = read("cluster.x-k8s.io/v1beta1", "Machine", "older-machine").await;
    assert_eq!(machine["spec"]["infrastructureRef"]["apiVersion"], format!("{GROUP}/v1beta2"));
    let claim = read("ipam.cluster.x-k8s.io/v1beta2", "IPAddressClaim", "claim").await;
    assert_eq!(claim["spec"]["clusterName"], "one");
    manager.stop().await;
    place.process.stop().await;
}

/// Rules that must know other objects read them from the cluster.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_knows_the_class_of_a_cluster() {
    let installed = Cluster::new().await;
    let (manager, webhooks) = installed.webhooks().await;
    installed.route(webhooks.address).await;
    webhooks.register(&manager);
    installed.registered().await;
    let count = json!({"name": "count", "required": false, "schema": {"openAPIV3Schema": {"type": "integer", "default": 2}}});
    installed.create(&class("base", json!([count]))).await.unwrap();
    let why = installed.create(&cluster("one", json!([{"name": "count", "value": "x"}]))).await.unwrap_err();
    assert!(why.contains("spec.topology.variables[count].value"), "{why}");
    let created = installed.create(&cluster("one", json!([]))).await.unwrap();
    assert_eq!(created["spec"]["topology"]["variables"], json!([{"name": "count", "value": 2}]));
    let classes = any(&installed.administrator, "cluster.x-k8s.io/v1beta2", "ClusterClass", Some("default"));
    let deleted = classes.delete("base", &Default::default()).await;
    let Err(kube::Error::Api(status)) = deleted else { panic!("{deleted:?}") };
    let expected = "denied the request: clusterclasses.cluster.x-k8s.io \"base\" is forbidden: ClusterClass cannot be deleted";
    assert!(status.code == 403 && status.message.contains(expected), "{status:?}");
    manager.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_have_the_same_certificates_and_the_server_refuses_what_is_no_review() {
    let cluster = Cluster::new().await;
    let (first, webhooks) = cluster.webhooks().await;
    let secrets: Api<Secret> = Api::namespaced(cluster.administrator.clone(), NAMESPACE);
    let made = secrets.get(SECRET).await.unwrap();
    let (second, _) = cluster.webhooks().await;
    assert_eq!(secrets.get(SECRET).await.unwrap(), made);

    let client = client_of(webhooks.address);
    let ask = async |method: &str, path: &str, body: Vec<u8>| ask(&client, method, path, body).await;
    let largest = || vec![b'x'; REVIEW_BYTES];
    let table = [
        ("GET", "/rules", Vec::new(), 405, "reviews are posted"),
        ("POST", "/other", Vec::new(), 404, "no webhook is at /other"),
        ("POST", "/rules", b"{}".to_vec(), 400, "the body is no AdmissionReview of admission.k8s.io/v1"),
        (
            "POST",
            "/conversion",
            b"{}".to_vec(),
            400,
            "the body is no ConversionReview of apiextensions.k8s.io/v1",
        ),
        ("POST", "/defaults", largest()[1..].to_vec(), 400, "the body is no JSON"),
        ("POST", "/defaults", largest(), 400, "the body is no JSON"),
    ];
    for (method, path, body, code, text) in table {
        let (found, why) = ask(method, path, body).await.unwrap();
        assert!(found == code && why.starts_with(text), "{method} {path}: {found} {why}");
    }
    // The server may close the connection before the client has sent everything.
    let refused = ask("POST", "/defaults", [largest(), vec![b'x']].concat()).await;
    assert!(refused.is_none_or(|(code, why)| code == 413 && why.ends_with("larger than 7340032 bytes")));
    let counted = "firstlight_limit_reached_total{limit=\"webhook_review_bytes\"} 1\n";
    assert!(first.all_metrics().text().contains(counted));
    first.stop().await;
    second.stop().await;
}

/// Such a name would make another request of the one for the object, here a watch, which has no end.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_a_scale_review_cannot_change_the_request_for_the_object() {
    let cluster = Cluster::new().await;
    let (manager, webhooks) = cluster.webhooks().await;
    let client = client_of(webhooks.address);
    for (namespace, name) in
        [("default", "a?watch=true"), ("default", ""), ("default", "../a"), ("", "a"), ("a/b", "a")]
    {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "operation": "UPDATE", "subResource": "scale", "namespace": namespace, "name": name,
            "resource": {"group": "controlplane.cluster.x-k8s.io", "version": "v1beta2", "resource": "kubeadmcontrolplanes"},
            "object": {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}},
        }});
        let asked = ask(&client, "POST", "/rules", review.to_string().into_bytes());
        let (code, answer) = tokio::time::timeout(DEADLINE, asked).await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{code}: {answer}"));
        let status = &answer["response"]["status"];
        assert_eq!(
            (code, &answer["response"]["allowed"], &status["code"]),
            (200, &json!(false), &json!(400))
        );
        let message = status["message"].as_str().unwrap();
        assert!(message.starts_with("request.name, request.namespace: "), "{message}");
    }
    manager.stop().await;
}
