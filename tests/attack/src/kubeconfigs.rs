//! Kubeconfigs in Secrets of a tenant: whoever may write a Secret beside a Cluster must not run a command, have a file read, or choose a
//! proxy, as the user of this process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::caller::{Ask, Caller, Endpoint};
use crate::lab::{Lab, Options, until};
use crate::report::Broken;

/// How long a server may take for one step. It only bounds the run.
const PATIENCE: Duration = Duration::from_secs(60);
/// Marks the file of a key that must not be read.
const CANARY: &str = "canary-of-a-file";
const CLUSTERS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let mut broken = Broken::default();
    let handed_over = hand_overs(options, &mut broken).await?;
    let connected = connections(options, &mut broken).await?;
    broken.figures = format!("{handed_over} hand-overs, {connected} connections");
    Ok(broken)
}

/// A field of a kubeconfig that a Secret may not have.
struct Trap {
    /// `cluster` or `user`.
    place: &'static str,
    field: &'static str,
    value: Value,
}

/// Returns the traps. Each command would write `executed`, each file is `secret`.
fn traps(executed: &Path, secret: &Path) -> Vec<Trap> {
    let touch = format!("id > {}", executed.display());
    let user = |field, value| Trap { place: "user", field, value };
    let cluster = |field, value| Trap { place: "cluster", field, value };
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "sh", "args": ["-c", touch],
    });
    let provider =
        json!({"name": "gcp", "config": {"cmd-path": "/bin/sh", "cmd-args": format!("-c '{touch}'")}});
    vec![
        user("exec", exec),
        user("auth-provider", provider),
        user("tokenFile", json!(secret)),
        user("client-certificate", json!(secret)),
        user("client-key", json!(secret)),
        user("username", json!("admin")),
        user("as", json!("system:admin")),
        cluster("certificate-authority", json!(secret)),
        cluster("proxy-url", json!("http://127.0.0.1:9")),
        cluster("insecure-skip-tls-verify", json!(true)),
    ]
}

/// Sets the field in the only cluster or user of a kubeconfig.
fn trapped(kubeconfig: &str, trap: &Trap) -> Result<String> {
    let config = machinery::decode::yaml(kubeconfig.as_bytes()).map_err(anyhow::Error::msg)?;
    let mut config = config.value;
    config[format!("{}s", trap.place)][0][trap.place][trap.field] = trap.value.clone();
    Ok(config.to_string())
}

/// Lets `up --pivot-to self` hand over into a Cluster with each of the kubeconfigs.
async fn hand_overs(options: &Options, broken: &mut Broken) -> Result<usize> {
    let folder = tempfile::Builder::new().prefix("firstlight-attack-").tempdir()?;
    let (executed, secret) = (folder.path().join("executed"), folder.path().join("secret"));
    std::fs::write(&secret, CANARY)?;
    let target = Lab::start(options).await?;
    let good = std::fs::read_to_string(target.server.kubeconfig())?;
    let traps = traps(&executed, &secret);
    for (number, trap) in traps.iter().enumerate() {
        let data = folder.path().join(number.to_string());
        let output = hand_over(options, &data, &trapped(&good, trap)?).await?;
        if executed.exists() {
            broken.add(format!("up --pivot-to self: {} was executed", trap.field));
            std::fs::remove_file(&executed)?;
        }
        if output.contains(CANARY) {
            broken.add(format!("up --pivot-to self: {}: a file was printed", trap.field));
        }
        if !output.contains(trap.field) || !output.contains("is refused") {
            broken.add(format!("up --pivot-to self: {} was not refused: {output:.300}", trap.field));
        }
    }
    Ok(traps.len())
}

/// Brings up a Cluster that says that it is Available, with this kubeconfig in its Secret. Returns what `up` printed.
async fn hand_over(options: &Options, data: &Path, kubeconfig: &str) -> Result<String> {
    let manifest = data.with_extension("json");
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c"},
        "spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Cluster", "name": "c"}},
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c-kubeconfig"}, "stringData": {"value": kubeconfig},
    });
    std::fs::write(
        &manifest,
        json!({"apiVersion": "v1", "kind": "List", "items": [cluster, secret]}).to_string(),
    )?;
    let limit = format!("{}s", PATIENCE.as_secs());
    let up = Command::new(&options.binary)
        .args(["up", "--pivot-to", "self", "--controllers", "none", "--listen", "127.0.0.1:0"])
        .args(["--wait", &limit, "--data-dir"])
        .arg(data)
        .arg("-f")
        .arg(&manifest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let path = data.join("kubeconfig");
    let endpoint = until("the kubeconfig", PATIENCE * options.slack, async || {
        Endpoint::of(&std::fs::read_to_string(&path).ok()?).ok()
    });
    let (endpoint, identity) = endpoint.await?;
    let mut admin = endpoint.certified(&identity)?;
    let exists = async || admin.get(&format!("{CLUSTERS}/c")).await.ok().map(drop);
    until("the Cluster", PATIENCE * options.slack, exists).await?;
    make_available(&mut admin).await?;
    let output = tokio::time::timeout(PATIENCE * options.slack * 2, up.wait_with_output()).await;
    let output = output.context("`up` did not end")??;
    ensure!(!output.status.success(), "`up` handed over");
    Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

async fn make_available(admin: &mut Caller) -> Result<()> {
    let condition = json!({
        "type": "Available", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status =
        json!({"status": {"phase": "Provisioned", "observedGeneration": 1, "conditions": [condition]}});
    let ask = Ask::new(Method::PATCH, format!("{CLUSTERS}/c/status"))
        .body("application/merge-patch+json", status.to_string());
    let answer = admin.send(&ask).await?;
    ensure!(answer.is_done(), "{}", answer.text());
    Ok(())
}

/// Puts each of the kubeconfigs beside a Cluster, and a good one beside another, before the controllers know them.
async fn connections(options: &Options, broken: &mut Broken) -> Result<usize> {
    let folder = tempfile::Builder::new().prefix("firstlight-attack-").tempdir()?;
    let (executed, secret) = (folder.path().join("executed"), folder.path().join("secret"));
    std::fs::write(&secret, CANARY)?;
    let lab = Lab::start_with(&options.binary, &[]).await?;
    let mut admin = lab.admin()?;
    let good = std::fs::read_to_string(lab.server.kubeconfig())?;
    let patience = PATIENCE * options.slack;
    create(&mut admin, "good", &good).await?;
    until("a connection with the good kubeconfig", patience, async || {
        probed(&mut admin, "good").await.filter(|probed| probed.0)
    })
    .await?;
    let traps = traps(&executed, &secret);
    for (number, trap) in traps.iter().enumerate() {
        create(&mut admin, &format!("c{number}"), &trapped(&good, trap)?).await?;
    }
    for (number, trap) in traps.iter().enumerate() {
        let what = format!("{} is refused", trap.field);
        let refused = until(&what, patience, async || {
            let (is_connected, message) = probed(&mut admin, &format!("c{number}")).await?;
            (is_connected || message.contains(trap.field)).then_some((is_connected, message))
        });
        match refused.await {
            Err(error) => broken.add(format!("a controller: {error:#}")),
            Ok((true, _)) => broken.add(format!("a controller connects although there is {}", trap.field)),
            Ok((_, message)) if message.contains(CANARY) => broken.add(format!("a controller: {message}")),
            Ok(_) => {}
        }
    }
    if executed.exists() {
        broken.add("a controller executed a command".to_owned());
    }
    Ok(traps.len())
}

/// Creates a Cluster of simulated machines whose kubeconfig is given.
async fn create(admin: &mut Caller, name: &str, kubeconfig: &str) -> Result<()> {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("{name}-kubeconfig")}, "stringData": {"value": kubeconfig},
    });
    admin.post(SECRETS, &secret).await?;
    let manifest = include_str!("../../../examples/minimal.yaml").replace("minimal", name);
    let documents = machinery::decode::yaml_documents(&manifest).map_err(anyhow::Error::msg)?;
    for (_, decoded) in documents {
        let object = decoded.value;
        let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
        let (version, kind) = version.zip(kind).context("a kind")?;
        let path = format!("/apis/{version}/namespaces/default/{}s", kind.to_lowercase());
        admin.post(&path, &object).await?;
    }
    Ok(())
}

/// Returns whether a Cluster is connected, and what its conditions say.
async fn probed(admin: &mut Caller, name: &str) -> Option<(bool, String)> {
    let cluster = admin.get(&format!("{CLUSTERS}/{name}")).await.ok()?;
    let conditions = cluster["status"]["conditions"].as_array()?;
    let probe = conditions.iter().find(|condition| condition["type"] == "RemoteConnectionProbe")?;
    let messages = conditions.iter().filter_map(|condition| condition["message"].as_str());
    Some((probe["status"] == "True", messages.collect::<Vec<_>>().join("\n")))
}
