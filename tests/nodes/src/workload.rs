//! What a user does with a cluster: a Deployment, its Service, and names.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::kubectl::Kubectl;
use crate::run::until;

/// The longest time for a Deployment, and for an answer of a Service.
const ROLLOUT: Duration = Duration::from_secs(90);
const ANSWER: Duration = Duration::from_secs(30);
/// Calls of a Service, which chooses one of two Pods each time: only in one of 65536 runs they are all answered by the same one.
const CALLS: usize = 17;

/// The port of each node that leads to the Service.
pub const NODE_PORT: u16 = 30080;

/// Two Pods, on two nodes, and their Service.
const WEB: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: web
        image: WEB
        imagePullPolicy: Never
        readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: NODE_PORT}]}
";

/// Makes the Deployment, and checks that both its Pods answer through the Service from these nodes and, by name, from each Pod.
/// `in_node` runs a command in a node.
///
/// # Errors
/// Says who gets no answer.
pub async fn answers(
    kubectl: &Kubectl,
    nodes: &[&str],
    in_node: impl AsyncFn(&str, &[&str]) -> Result<String>,
) -> Result<()> {
    let manifest = WEB.replace("WEB", node_programs::WEB).replace("NODE_PORT", &NODE_PORT.to_string());
    kubectl.apply(&manifest).await?;
    kubectl.wait("rollout status deployment/web", ROLLOUT).await?;
    let address = kubectl.run("get service web -o jsonpath={.spec.clusterIP}").await?;
    let pods = kubectl.run("get pods -l app=web -o name").await?;
    let pods: Vec<&str> = pods.lines().collect();
    let names: BTreeSet<String> = pods.iter().map(|pod| pod.trim_start_matches("pod/").to_owned()).collect();
    ensure!(names.len() == 2, "two Pods: {names:?}");
    for node in nodes {
        let url = format!("http://{address}/");
        let get = ["curl", "--silent", "--fail", "--max-time", "5", &url];
        let what = format!("both Pods answer {node} through the Service");
        until(&what, ANSWER, async || all_answer(&names, async || in_node(node, &get).await).await).await?;
    }
    for pod in pods {
        let get = ["/web", "get", "http://web.default.svc.cluster.local/"];
        let what = format!("both Pods answer {pod} by the name of the Service");
        until(&what, ANSWER, async || all_answer(&names, async || kubectl.exec(pod, &get).await).await)
            .await?;
    }
    Ok(())
}

/// Checks that calls are answered by all Pods of these names, and by nobody else.
async fn all_answer(names: &BTreeSet<String>, get: impl AsyncFn() -> Result<String>) -> Result<()> {
    let mut answered = BTreeSet::new();
    for _ in 0..CALLS {
        answered.insert(get().await?.trim().to_owned());
        if answered == *names {
            return Ok(());
        }
    }
    ensure!(answered == *names, "{answered:?} answer instead of {names:?}");
    Ok(())
}
