//! Texts that strangers wrote must not act on the terminal of whoever reads them: in conditions, inventories, answers of BMCs and logs.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Result, ensure};
use http::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::caller::{Ask, Caller};
use crate::lab::{Lab, Options};
use crate::report::Broken;

/// What an attacker wants an operator to read as a line of the program.
const FORGED: &str = "52-54-00-ee-ee-ee   10.77.0.201   HONEST123";

const CLUSTERS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters";
const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";
const HOSTS: &str = "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts";
const AGENTS: &str = "/apis/netboot.firstlight.dev/v1alpha1/agents";

/// The commands that print what others wrote.
const COMMANDS: &[&str] = &[
    "status",
    "status -o json",
    "status -o yaml",
    "describe cluster first --kubeconfig KUBECONFIG --show-conditions all",
    "describe cluster first --kubeconfig KUBECONFIG --color --show-conditions all",
    "describe cluster first --kubeconfig KUBECONFIG --v1beta2=false --show-conditions all",
    "metal hosts --kubeconfig KUBECONFIG",
    "metal hosts --kubeconfig KUBECONFIG -o json",
    "metal hosts --kubeconfig KUBECONFIG -o yaml",
    "metal plan first --kubeconfig KUBECONFIG -n default",
    "plan --kubeconfig KUBECONFIG -f MANIFEST",
    "wait --timeout 1s",
    "logs",
];

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let lab = Lab::start(options).await?;
    let mut admin = lab.admin()?;
    let mut broken = Broken::default();
    let texts = hostile();
    for text in &texts {
        plant(&mut admin, text).await?;
        std::fs::write(lab.data().join("firstlight.log"), format!("{text}\nlast\n"))?;
        for command in COMMANDS {
            let (code, printed) = run_command(&options.binary, &lab, command).await?;
            check(command, text, &printed, &mut broken);
            ensure!(code.is_some(), "{command} was killed: {printed}");
        }
    }
    broken.figures = format!("{} texts, {} commands each", texts.len(), COMMANDS.len());
    Ok(broken)
}

/// Texts that move the cursor, write another line, change the direction, or hide.
fn hostile() -> Vec<String> {
    vec![
        format!("\u{1b}[5A\r{FORGED}\u{1b}[K\u{1b}[5B"),
        format!("\u{9b}5A\u{8d}{FORGED}\u{85}"),
        format!("\n\n{FORGED}\n"),
        format!("\r\n\u{b}\u{c}{FORGED}"),
        format!("\u{1b}]0;title\u{7}\u{1b}]52;c;cm0gLXJmIH4K\u{7}\u{7f}\u{8}{FORGED}"),
        format!("\u{202e}\u{2066}{FORGED}\u{2069}\u{200f}\u{61c}"),
        format!("\u{2028}{FORGED}\u{2029}\u{200b}\u{feff}\u{2060}\u{e0041}"),
        format!("PC{}{FORGED}", " ".repeat(200)),
    ]
}

/// Writes `text` into every field that a command shows.
async fn plant(admin: &mut Caller, text: &str) -> Result<()> {
    let condition = |name: &str| {
        json!({"type": name, "status": "False", "reason": "Because", "message": format!("{text}\n* {text}"),
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let older = json!({"deprecated": {"v1beta1": {"conditions": [condition("Ready")]}}});
    let with = |conditions: &[&str], mut status: Value| {
        status["conditions"] = conditions.iter().map(|name| condition(name)).collect();
        status
    };
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "first"},
        "spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": "first"}}});
    let machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "first"},
        "spec": {"clusterName": "first", "bootstrap": {"dataSecretName": "none"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": "first"}}});
    let host = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "first"},
        "spec": {"online": true, "image": {"url": "http://images/a.raw", "checksum": "00", "format": "raw"}}});
    let agent = json!({"apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent",
        "metadata": {"name": "52-54-00-00-00-01"}, "spec": {}});
    let disk = json!({"name": format!("/dev/{text}"), "sizeBytes": 1_i64 << 40, "serialNumber": text, "model": text});
    let hardware = json!({"systemVendor": {"manufacturer": text, "productName": text, "serialNumber": text}, "storage": [disk]});
    write(admin, CLUSTERS, &cluster, with(&["Available", "InfrastructureReady"], older)).await?;
    write(admin, MACHINES, &machine, with(&["Ready"], json!({"phase": "Provisioning"}))).await?;
    let status = json!({"operationalStatus": "error", "errorType": "registration error", "errorMessage": text,
        "errorCount": 1, "poweredOn": true, "hardwareProfile": "", "goodCredentials": {}, "triedCredentials": {},
        "provisioning": {"state": "available", "ID": ""}, "hardware": hardware});
    write(admin, HOSTS, &host, status).await?;
    let status = json!({"address": "10.77.0.66", "serialNumber": text, "hardware": hardware,
        "lastSeenTime": "2026-01-01T00:00:00Z", "log": [text]});
    write(admin, AGENTS, &agent, status).await
}

/// Creates the object if it does not exist, and sets its status.
async fn write(admin: &mut Caller, collection: &str, object: &Value, status: Value) -> Result<()> {
    let ask = Ask::new(Method::POST, collection).body("application/json", object.to_string());
    let created = admin.send(&ask).await?;
    ensure!(created.is_done() || created.code == 409, "{collection}: {}", created.text());
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let ask = Ask::new(Method::PATCH, format!("{collection}/{name}/status"))
        .body("application/merge-patch+json", json!({ "status": status }).to_string());
    let patched = admin.send(&ask).await?;
    ensure!(patched.is_done(), "{collection}/{name}/status: {}", patched.text());
    Ok(())
}

/// Runs a command; returns its exit code, `None` if a signal ended it, and what it printed.
async fn run_command(binary: &Path, lab: &Lab, command: &str) -> Result<(Option<i32>, String)> {
    let manifest = lab.data().with_file_name("first.yaml");
    std::fs::write(
        &manifest,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: default}\n",
    )?;
    let kubeconfig = lab.server.kubeconfig();
    let arguments = command.split(' ').map(|word| match word {
        "KUBECONFIG" => kubeconfig.display().to_string(),
        "MANIFEST" => manifest.display().to_string(),
        word => word.to_owned(),
    });
    let mut process = Command::new(binary);
    process.args(arguments);
    if !command.contains("KUBECONFIG") {
        process.arg("--data-dir").arg(lab.data());
    }
    let output = process.stdin(Stdio::null()).output().await?;
    let printed = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8_lossy(&printed).into_owned()))
}

/// Looks for characters that act on a terminal, and for lines that the attacker begins.
fn check(command: &str, text: &str, printed: &str, broken: &mut Broken) {
    let printed = match command.contains("--color") {
        true => without_colours(printed),
        false => printed.to_owned(),
    };
    if let Some(found) = printed.chars().find(|c| acts(*c)) {
        broken.add(format!("{command}: prints {found:?} of {text:?}"));
    }
    // A log, and YAML, are shown as they are, with their lines.
    let is_verbatim = command == "logs" || command.ends_with("yaml");
    if !is_verbatim && printed.lines().any(|line| line.trim_start().starts_with(FORGED)) {
        broken.add(format!("{command}: a line begins with the text of {text:?}"));
    }
    let is_json = command.ends_with("json");
    if is_json && serde_json::from_str::<Value>(&printed).is_ok_and(|value| !holds(&value, text)) {
        broken.add(format!("{command}: the JSON has another value than {text:?}"));
    }
}

/// Returns whether a character acts on a terminal or cannot be seen. Written out here, so that it is not the program's own opinion.
fn acts(c: char) -> bool {
    let hidden = ['\u{ad}', '\u{61c}', '\u{feff}', '\u{180e}'];
    let ranges = [
        ('\u{200b}', '\u{200f}'),
        ('\u{2028}', '\u{202e}'),
        ('\u{2060}', '\u{206f}'),
        ('\u{e0000}', '\u{e007f}'),
    ];
    (c.is_control() && c != '\n' && c != '\t')
        || hidden.contains(&c)
        || ranges.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Removes the program's own colours.
fn without_colours(printed: &str) -> String {
    let mut parts = printed.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('m').unwrap_or(("", part));
        if code.is_empty() || !code.chars().all(|c| c.is_ascii_digit() || c == ';') {
            plain.push('\u{1b}');
            plain.push_str(part);
        } else {
            plain.push_str(rest);
        }
    }
    plain
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text.trim()),
        Value::Array(values) => values.iter().any(|value| holds(value, text)),
        Value::Object(fields) => fields.values().any(|value| holds(value, text)),
        _ => false,
    }
}
