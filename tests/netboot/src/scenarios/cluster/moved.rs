//! The cluster moves with its hosts to another server, which goes on, and back: no host is switched or written, and no address changes.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{Site, condition, object};
use crate::lab::run;
use crate::scenario::{NAMESPACE, Scenario};
use crate::server::{Objects, binary, bmcs_here};
use crate::wait::{DEADLINE, until};

/// What the second server changes, to show that it has taken over.
const DRAIN_SECONDS: u32 = 77;

pub(super) async fn there_and_back(scenario: &Scenario, sites: &[&Site]) -> Result<()> {
    let folder = scenario.lab.file("second");
    std::fs::create_dir(&folder)?;
    let bmcs = bmcs_here();
    let bmcs: Vec<&str> = bmcs.iter().map(String::as_str).collect();
    let second = test_server::Server::start(binary()?.as_ref(), &folder, &bmcs).await?;
    let there = Objects(second.client().await?);
    let first = scenario.lab.file("data/kubeconfig");
    let before = kept(&scenario.server, sites).await?;
    sites.iter().for_each(|site| drop(site.bmc.take_requests()));

    pivot(&first, &second.kubeconfig(), &folder.join("there.journal")).await?;
    goes_on(&there).await.with_context(|| second.log())?;
    is_untouched(&before, &there, sites).await?;
    pivot(&second.kubeconfig(), &first, &folder.join("back.journal")).await?;
    goes_on(&scenario.server).await.with_context(|| scenario.server.log())?;
    is_untouched(&before, &scenario.server, sites).await
}

async fn pivot(from: &Path, to: &Path, journal: &Path) -> Result<()> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path that is text");
    let (from, to, journal) = (text(from)?, text(to)?, text(journal)?);
    let options = ["pivot", "--kubeconfig", &from, "--to-kubeconfig", &to, "--journal", &journal];
    run(&binary()?, &options).await.map(drop)
}

/// Waits until a server changes the worker's Machine, and has the Cluster Available.
async fn goes_on(server: &Objects) -> Result<()> {
    let deployment = object("MachineDeployment", "first-md", json!({}));
    let now = server.get(&deployment).await?;
    let path = "/spec/template/spec/deletion/nodeDrainTimeoutSeconds";
    let seconds = now.pointer(path).and_then(Value::as_u64).map_or(u64::from(DRAIN_SECONDS), |now| now + 1);
    let deletion = json!({"nodeDrainTimeoutSeconds": seconds});
    server.merge(&deployment, json!({"spec": {"template": {"spec": {"deletion": deletion}}}})).await?;
    until("the Machine of the worker has the drain's time limit", DEADLINE, || async {
        let machines = server.list(&object("Machine", "", json!({}))).await.ok()?;
        machines
            .iter()
            .any(|machine| machine["spec"]["deletion"]["nodeDrainTimeoutSeconds"] == seconds)
            .then_some(())
    })
    .await?;
    until("the Cluster is Available", DEADLINE, || async {
        let cluster = server.get(&object("Cluster", "first", json!({}))).await.ok()?;
        (condition(&cluster, "Available")["status"] == "True").then_some(())
    })
    .await
}

/// Returns what a pivot must not change of each host, and of its machine's addresses.
async fn kept(server: &Objects, sites: &[&Site]) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for site in sites {
        let host = server.get(&site.host).await?;
        let consumer = host["spec"]["consumerRef"]["name"].as_str().context("a consumer")?;
        let machine = server.get(&object("Metal3Machine", consumer, json!({}))).await?;
        let mut status = host["status"].clone();
        // When it was last looked at; conditions, whose transitions are not the host's; and the `resourceVersion` of its Secret.
        for field in ["lastUpdated", "conditions", "triedCredentials", "goodCredentials"] {
            status.as_object_mut().and_then(|status| status.remove(field));
        }
        all.push(json!({
            "spec": host["spec"], "annotations": host["metadata"]["annotations"], "status": status,
            "addresses": machine["status"]["addresses"], "providerID": machine["spec"]["providerID"],
            "namespace": NAMESPACE,
        }));
    }
    Ok(all)
}

/// Fails if a host differs from `before`, or its BMC was asked to change something.
async fn is_untouched(before: &[Value], server: &Objects, sites: &[&Site]) -> Result<()> {
    let mut requests = Vec::new();
    for site in sites {
        let mut seen = site.bmc.take_requests();
        until("the new server has read the BMC", LOOK, || {
            seen.extend(site.bmc.take_requests());
            let is_read = seen.iter().any(|request| request.starts_with("GET "));
            async move { is_read.then_some(()) }
        })
        .await?;
        requests.extend(seen);
    }
    let after = kept(server, sites).await?;
    ensure!(after == before, "a pivot has changed a host: {before:#?}\n{after:#?}");
    let writes = |request: &&String| !request.starts_with("GET ") && !request.contains("/Sessions");
    let written: Vec<&String> = requests.iter().filter(writes).collect();
    ensure!(written.is_empty(), "after a pivot, BMCs were asked: {written:?}");
    Ok(())
}

/// Limit for a host's controller to read its BMC.
const LOOK: Duration = Duration::from_secs(180);
