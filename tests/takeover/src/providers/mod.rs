//! Upstream's providers, unmodified, as processes of a server that has no controllers of its own for Cluster API: core, kubeadm's bootstrap
//! and control plane providers, and the Dev provider with its in-memory backend. They bring a cluster of a ClusterClass up, and a plain one.
//! Then our controllers do the same with the plain one, and the results are compared.

pub mod cluster;
pub mod figures;
pub mod outcome;
pub(crate) mod repository;
pub(crate) mod site;
pub mod specs;
pub mod vsphere;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use self::cluster::{Manifests, Times};
use self::figures::Memory;
use self::outcome::{Outcome, differences};
use self::repository::PROVIDERS;
use self::site::Site;
use crate::output::say;

/// Our controllers in place of the providers.
const OURS: &str = "core,kubeadm-bootstrap,kubeadm-control-plane,simulated";
/// The cluster of a ClusterClass, from the provider's template.
const CLASSY: [&str; 9] = [
    "generate",
    "cluster",
    "classy",
    "--infrastructure=docker",
    "--flavor=in-memory",
    "--kubernetes-version=v1.35.0",
    "--control-plane-machine-count=3",
    "--worker-machine-count=3",
    "--target-namespace=default",
];

/// Runs the providers and then our controllers, and prints times, memory and what differs.
///
/// # Errors
/// A step fails.
pub async fn run(binary: &Path, tools: &Path, folder: &Path) -> Result<()> {
    // The sample is a cluster of a ClusterClass, which upstream has switched off by default.
    let variables = [("CLUSTER_TOPOLOGY", "true")];
    let configuration = repository::configure(tools, folder, &PROVIDERS, &variables)?;
    let images = repository::images(tools, folder, &PROVIDERS)?;
    let images = images.to_str().context("a path that is text")?;
    let start =
        async |name: &str, options: &[&str]| Site::start(binary, &configuration, folder, name, options).await;
    let plain = std::fs::read_to_string(clients::session::root().join("examples/first-cluster.yaml"))?;
    let plain = Manifests::parse(&plain)?;

    let site = start("providers", &["--controllers", "pods", "--container-images", images]).await?;
    let took = site.install(&PROVIDERS, &["--wait-providers"]).await?;
    say(&format!("init of {} providers until all are available: {}", PROVIDERS.len(), seconds(took)))?;
    // Without their images, no provider starts there.
    let idle = start("idle", &["--controllers", "pods"]).await?;
    memory(&site, &idle, binary).await?;
    drop(idle);
    let classy = Manifests::parse(&site.run(&CLASSY).await?.0)?;
    life(&site, &classy, "the providers, a cluster of a ClusterClass").await?;
    let theirs = life(&site, &plain, "the providers, a plain cluster").await?;
    let (_, took) = site.run(&["delete", "--all"]).await?;
    say(&format!("delete --all: {}", seconds(took)))?;
    drop(site);

    let site = start("controllers", &["--controllers", OURS]).await?;
    let ours = life(&site, &plain, "our controllers, the plain cluster").await?;
    let differ = differences(&theirs, &ours);
    say(&format!("{} properties of objects, of which {} differ:", theirs.len(), differ.len()))?;
    differ.iter().try_for_each(|line| say(&format!("  {line}")))
}

async fn life(site: &Site, manifests: &Manifests, what: &str) -> Result<Outcome> {
    let lived = manifests.live(&site.objects).await;
    let (outcome, Times { available, rest, deletion }) = lived.with_context(|| site.server.log())?;
    let [available, rest, deletion] = [available, rest, deletion].map(seconds);
    say(&format!("{what}: available after {available}, at rest after {rest}; deleted in {deletion}"))?;
    Ok(outcome)
}

/// Prints what the processes of providers need beside themselves: the processes that start them, and the memory of the server beyond that
/// of one which has the same components and runs nothing.
async fn memory(site: &Site, idle: &Site, binary: &Path) -> Result<()> {
    idle.install(&PROVIDERS, &[]).await?;
    let (server, without) = (figures::of(site.process()?)?, figures::of(idle.process()?)?);
    let (own, theirs) = figures::below(site.process()?, binary)?;
    ensure!(theirs.processes == PROVIDERS.len() as u64, "{} processes of providers run", theirs.processes);
    for (what, Memory { resident, private, processes }) in [
        ("the server, which runs the providers", server),
        ("a server with the same components, which runs nothing", without),
        ("the processes that started theirs", own),
        ("their processes", theirs),
    ] {
        say(&format!("{what} ({processes}): {resident} KiB, of which {private} KiB are its own"))?;
    }
    let ours = (server.private + own.private).saturating_sub(without.private) / theirs.processes;
    say(&format!("our own memory for each process of a provider: {ours} KiB"))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
