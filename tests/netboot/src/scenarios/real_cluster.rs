//! A cluster with the real programs of Kubernetes, on two machines that are switched off at the beginning.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use machinery::clock::Clock;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::redfish;
use crate::images::{self, Image};
use crate::kubernetes::BUSYBOX;
use crate::machine::{Design, Firmware, Machine};
use crate::scenario::{IPXE, NAMESPACE, Scenario};
use crate::server::Objects;
use crate::wait::until;

/// The manifests.
const MANIFESTS: [&str; 4] = ["hosts.yaml", "cluster.yaml", "control-plane.yaml", "workers.yaml"];
/// Addresses of the manifests, and those of the lab.
const ADDRESSES: [&str; 2] = ["10.0.0.", "10.77.0."];
/// Limit from power-off to the cluster, on a machine that does something else as well.
const CLUSTER: Duration = Duration::from_secs(40 * 60);
/// Limit for each thing that the cluster does then.
const STEP: Duration = Duration::from_secs(600);
/// Kernel arguments of the agent, which runs on the same two processors.
const OPTIONS: [&str; 4] = [
    "--netboot-kernel-arguments",
    "tsc=reliable",
    "--netboot-subnet",
    "10.77.0.0/24,router=10.77.0.1,dns=10.77.0.1,pool=10.77.0.100-10.77.0.200",
];

/// A run, with what an error shows.
struct Run {
    scenario: Scenario,
    machines: Vec<Arc<Machine>>,
    start: Instant,
}

/// Power off -> inspection -> a control plane and a worker with kubeadm -> a pod on the worker resolves a name and answers.
pub async fn two_machines() -> Result<()> {
    let (scenario, _) = Scenario::start_with(&[IPXE], &OPTIONS).await?;
    let image = images::node(&scenario.lab.file("images")).await?;
    let mut machines = Vec::new();
    let mut bmcs = Vec::new();
    for number in 0..2 {
        let (machine, _, host) = redfish::described(&scenario, design(number)).await?;
        machines.push(machine);
        bmcs.push(host["spec"]["bmc"].clone());
    }
    let objects = manifests(&image, &bmcs)?;
    let run = Run { scenario, machines, start: Clock::system().monotonic() };
    for object in &objects {
        run.scenario.server.apply(object).await?;
    }
    run.is_provisioned("host-0").await?;
    run.has("KubeadmControlPlane", "first-control-plane", "Initialized", CLUSTER).await?;
    run.is_provisioned("host-1").await?;
    run.has("Cluster", "first", "Available", CLUSTER).await?;
    run.machines_run().await?;
    let workload = Workload::connect(&run).await?;
    workload.nodes_are_ready().await?;
    workload.name_service_runs().await?;
    workload.pod_answers().await
}

fn design(number: u8) -> Design {
    Design { processors: 2, memory: 2560, ..Scenario::design(number, Firmware::Bios) }
}

/// Returns the objects of the example, with the lab's addresses, image and BMCs.
fn manifests(image: &Image, bmcs: &[Value]) -> Result<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bare-metal/cluster");
    let mut objects = Vec::new();
    for name in MANIFESTS {
        let text = std::fs::read_to_string(folder.join(name)).with_context(|| name.to_owned())?;
        let text = text.replace(ADDRESSES[0], ADDRESSES[1]);
        for (_, document) in machinery::decode::yaml_documents(&text).map_err(anyhow::Error::msg)? {
            let mut object = document.value;
            object["metadata"]["namespace"] = NAMESPACE.into();
            if let Some(spec) = object.pointer_mut("/spec/template/spec/image") {
                spec["checksum"] = image.checksum.clone().into();
            }
            if object["kind"] == "BareMetalHost" {
                let number = objects.iter().filter(|known: &&Value| known["kind"] == "BareMetalHost").count();
                object["spec"]["bmc"] = bmcs.get(number).context("a BMC for each host")?.clone();
            }
            objects.push(object);
        }
    }
    Ok(objects)
}

fn object(kind: &str, name: &str) -> Value {
    let version = match kind {
        "BareMetalHost" => "metal3.io/v1alpha1",
        "KubeadmControlPlane" => "controlplane.cluster.x-k8s.io/v1beta2",
        "Secret" => "v1",
        "Metal3Machine" => "infrastructure.cluster.x-k8s.io/v1beta2",
        _ => "cluster.x-k8s.io/v1beta2",
    };
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}})
}

fn has_condition(found: &Value, condition: &str) -> bool {
    let conditions = found["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|known| known["type"] == condition && known["status"] == "True")
}

impl Run {
    fn say(&self, what: &str) -> Result<()> {
        let seconds = self.start.elapsed().as_secs();
        Ok(writeln!(std::io::stdout(), "figure: real cluster: from power-off to {what}: {seconds} s")?)
    }

    async fn is_provisioned(&self, host: &str) -> Result<()> {
        for state in ["provisioning", "provisioned"] {
            let is_there = |found: &Value| {
                let now = found["status"]["provisioning"]["state"].as_str().unwrap_or_default();
                now == state || now == "provisioned"
            };
            self.wait(&format!("{host} {state}"), CLUSTER, &object("BareMetalHost", host), is_there).await?;
        }
        Ok(())
    }

    /// Waits until an object has a condition that is true.
    async fn has(&self, kind: &str, name: &str, condition: &str, limit: Duration) -> Result<()> {
        let what = format!("{kind} {condition}");
        self.wait(&what, limit, &object(kind, name), |found| has_condition(found, condition)).await
    }

    async fn machines_run(&self) -> Result<()> {
        for machine in self.list("Machine").await? {
            let object = object("Machine", machine["metadata"]["name"].as_str().unwrap_or_default());
            let runs = |found: &Value| found["status"]["phase"] == "Running" && has_condition(found, "Ready");
            self.wait("a Machine runs", STEP, &object, runs).await?;
        }
        Ok(())
    }

    async fn list(&self, kind: &str) -> Result<Vec<Value>> {
        self.scenario.server.list(&object(kind, "")).await
    }

    async fn wait(
        &self,
        what: &str,
        limit: Duration,
        object: &Value,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let server = &self.scenario.server;
        let waited =
            until(what, limit, || async { condition(&server.get(object).await.ok()?).then_some(()) });
        match waited.await {
            Ok(()) => self.say(what),
            Err(error) => Err(self.explained(error).await),
        }
    }

    /// Adds the conditions of all objects, and the machines' consoles.
    async fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let mut text = error.to_string();
        for kind in ["Cluster", "KubeadmControlPlane", "Machine", "Metal3Machine", "BareMetalHost"] {
            for mut object in self.list(kind).await.unwrap_or_default() {
                object["status"]["hardware"] = Value::Null;
                text += &format!("\n--- {kind} {}\n{:#}", object["metadata"]["name"], object["status"]);
            }
        }
        for machine in &self.machines {
            text += &format!("\n--- console of {}\n{}", machine.design().name, machine.console().tail());
        }
        anyhow!("{text}\n--- the server\n{}", crate::scenario::last_lines(&self.scenario.server.log(), 100))
    }
}

/// The API of the new cluster.
struct Workload<'a> {
    run: &'a Run,
    objects: Objects,
}

impl<'a> Workload<'a> {
    /// Connects with the kubeconfig that the control plane's controller has written.
    async fn connect(run: &'a Run) -> Result<Self> {
        let secret = run.scenario.server.get(&object("Secret", "first-kubeconfig")).await?;
        let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret)?;
        let data = secret.data.unwrap_or_default();
        let value = data.get("value").context("a kubeconfig in the Secret")?;
        let kubeconfig = Kubeconfig::from_yaml(std::str::from_utf8(&value.0)?)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { run, objects: Objects(Client::try_from(config)?) })
    }

    async fn wait(&self, what: &str, object: &Value, condition: impl Fn(&Value) -> bool) -> Result<()> {
        let objects = &self.objects;
        let waited =
            until(what, STEP, || async { condition(&objects.get(object).await.ok()?).then_some(()) });
        let Err(error) = waited.await else { return self.run.say(what) };
        let found = objects.get(object).await.unwrap_or_default();
        Err(self.run.explained(error.context(format!("{found:#}"))).await)
    }

    async fn nodes_are_ready(&self) -> Result<()> {
        for number in 0..2 {
            let name = format!("host-{number}");
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
            self.wait(&format!("Node {name} Ready"), &node, |node| has_condition(node, "Ready")).await?;
            let id = self.objects.get(&node).await?["spec"]["providerID"].clone();
            let start = format!("metal3://{NAMESPACE}/{name}/");
            ensure!(id.as_str().is_some_and(|id| id.starts_with(&start)), "{name} has the provider ID {id}");
        }
        Ok(())
    }

    async fn name_service_runs(&self) -> Result<()> {
        let metadata = json!({"name": "coredns", "namespace": "kube-system"});
        let coredns = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata});
        self.wait("CoreDNS available", &coredns, |found| has_condition(found, "Available")).await
    }

    /// A pod writes what the name service says into a page and serves it. The control plane's taint keeps it on the worker.
    async fn pod_answers(&self) -> Result<()> {
        // kube-proxy may start later than the pod.
        let script = "cd /tmp
            until /bin/busybox nslookup kubernetes.default.svc.cluster.local > answer; do :; done
            /bin/busybox mv answer index.html
            exec /bin/busybox httpd -f -p 8080 -h /tmp";
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
                "name": "web", "image": BUSYBOX, "imagePullPolicy": "Never",
                "command": ["/bin/sh", "-c", script],
            }]},
        });
        self.objects.apply(&pod).await?;
        self.wait("a pod runs", &pod, |found| has_condition(found, "Ready")).await?;
        let node = self.objects.get(&pod).await?["spec"]["nodeName"].clone();
        ensure!(node == "host-1", "the pod runs on {node}");
        let path = "/api/v1/namespaces/default/pods/web:8080/proxy/index.html";
        let answer = until("the pod answers", STEP, || async {
            let request = http::Request::get(path).body(Vec::new()).ok()?;
            self.objects.client().request_text(request).await.ok()
        });
        let answer = match answer.await {
            Ok(answer) => answer,
            Err(error) => return Err(self.run.explained(error).await),
        };
        ensure!(answer.contains("10.96.0.1"), "the name service answered {answer}");
        self.run.say("a pod on the worker answers")
    }
}
