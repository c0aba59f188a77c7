//! The API of the new cluster.

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::STEP;
use super::run::{Run, has_condition, object};
use crate::kubernetes::BUSYBOX;
use crate::scenario::NAMESPACE;
use crate::server::Objects;
use crate::wait::until;

/// The API of the new cluster.
pub(super) struct Workload<'a> {
    pub run: &'a Run,
    pub objects: Objects,
    /// The administrator's kubeconfig.
    pub kubeconfig: String,
}

impl<'a> Workload<'a> {
    /// Connects with the kubeconfig that the control plane's controller has written.
    pub(super) async fn connect(run: &'a Run) -> Result<Self> {
        let secret = run.scenario.server.get(&object("Secret", "first-kubeconfig")).await?;
        let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret)?;
        let data = secret.data.unwrap_or_default();
        let value = data.get("value").context("a kubeconfig in the Secret")?;
        let kubeconfig = String::from_utf8(value.0.clone())?;
        let config = Kubeconfig::from_yaml(&kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        Ok(Self { run, objects: Objects(Client::try_from(config)?), kubeconfig })
    }

    pub(super) async fn wait(
        &self,
        what: &str,
        object: &Value,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let objects = &self.objects;
        let waited =
            until(what, STEP, || async { condition(&objects.get(object).await.ok()?).then_some(()) });
        let Err(error) = waited.await else { return self.run.say(what) };
        let found = objects.get(object).await.unwrap_or_default();
        Err(self.run.explained(error.context(format!("{found:#}"))).await)
    }

    pub(super) async fn node_is_ready(&self, name: &str) -> Result<()> {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        self.wait(&format!("Node {name} Ready"), &node, |node| has_condition(node, "Ready")).await?;
        let id = self.objects.get(&node).await?["spec"]["providerID"].clone();
        let start = format!("metal3://{NAMESPACE}/{name}/");
        ensure!(id.as_str().is_some_and(|id| id.starts_with(&start)), "{name} has the provider ID {id}");
        Ok(())
    }

    pub(super) async fn name_service_runs(&self) -> Result<()> {
        let metadata = json!({"name": "coredns", "namespace": "kube-system"});
        let coredns = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata});
        self.wait("CoreDNS available", &coredns, |found| has_condition(found, "Available")).await
    }

    /// A pod writes what the name service says into a page and serves it. The control plane's taint keeps it on the worker.
    pub(super) async fn pod_answers(&self) -> Result<()> {
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
