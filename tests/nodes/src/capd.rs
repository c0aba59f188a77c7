//! Upstream's own Docker provider with a real Docker, unmodified: `firstlight init` installs it, and the server runs its manager as a process with
//! Docker's socket. All other controllers are those of the server, and its own for these kinds stand aside. By name, because it needs what the
//! scenario `docker` needs, and builds the provider.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use futures::FutureExt as _;
use tokio::process::Command;

use crate::docker::engine::{Engine, Kind};
use crate::images::Images;
use crate::run::run as execute;
use crate::stage::{self, CHANGE, Stage};
use crate::{docker, machines, manifest, usage};

/// The image of the manager in the provider's components, and that of its load balancer.
const MANAGER: &str = "gcr.io/k8s-staging-cluster-api/capd-manager:main";
const BALANCER: &str = "kindest/haproxy:v20230606-42a2262b";
/// The archive with the first one, in the folder of the scenario.
const IMAGE: &str = "capd.tar";
/// The program of the first one.
const PROGRAM: &str = "/manager";
/// The provider expects this network of Docker. Its range is not that of nodes of the server.
const NETWORK: [&str; 4] = ["create", "--subnet", "10.91.0.0/24", "kind"];
const NO_NETWORK: [&str; 2] = ["rm", "kind"];
/// The longest time for a command of Docker.
const COMMAND: Duration = Duration::from_secs(10);
/// What an error shows of the provider.
const LOGS: &str = "logs --namespace capd-system deployment/capd-controller-manager --tail 60";

/// Builds the provider.
///
/// # Errors
/// The errors of the script.
pub fn prepare(images: &Images) -> Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("images/make-capd");
    node_programs::run(&script, [images.capd().as_os_str(), images.kubectl().as_os_str()])
}

/// Plays the life of a cluster.
///
/// # Errors
/// The daemon is not installed, a step fails, or the machine is not as it was when the daemon had started.
pub async fn run(images: &Images, folder: &Path) -> Result<()> {
    let engine = docker::start(Kind::Docker, folder).await?;
    load(&engine, images, &folder.join(IMAGE))?;
    let played = stage::play("capd", |stage| play(stage).boxed_local(), images, folder).await;
    docker::end(&engine, played)
}

/// Gives Docker the images, and writes that of the manager to an archive.
fn load(engine: &Engine, images: &Images, archive: &Path) -> Result<()> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path that is text");
    let made = |name: &str| text(&images.capd().join(name));
    engine.client(&["load", "--input", &text(&images.node(images.older()))?])?;
    engine.client(&["import", &made("haproxy.tar")?, BALANCER])?;
    let entrypoint = format!("ENTRYPOINT [{PROGRAM:?}]");
    engine.client(&["import", "--change", &entrypoint, &made("manager.tar")?, MANAGER])?;
    engine.client(&["save", "--output", &text(archive)?, MANAGER])?;
    Ok(())
}

async fn play(stage: &mut Stage<'_>) -> Result<()> {
    docker_network(&NETWORK).await?;
    stage.server.offer(stage.folder.join(IMAGE));
    stage.server.start(&["serve"]).await?;
    stage.steps.done("the server answers")?;
    let played = with_provider(stage).await;
    if let Err(error) = played {
        return Err(anyhow!("{error:#}\n{}", stage.server.kubectl().explain(LOGS).await));
    }
    stage.end().await?;
    docker_network(&NO_NETWORK).await
}

async fn docker_network(words: &[&str]) -> Result<()> {
    execute(Command::new("docker").arg("network").args(words), b"", COMMAND).await.map(drop)
}

async fn with_provider(stage: &Stage<'_>) -> Result<()> {
    let version = stage.images.older();
    let configuration = stage.images.capd().join("clusterctl.yaml");
    let configuration = configuration.to_str().context("a path that is text")?;
    let init = ["init", "--infrastructure", "docker", "--config", configuration, "--wait-providers"];
    stage.server.run(&init).await?;
    stage.steps.done("upstream's provider runs")?;
    stage.server.kubectl().apply(&manifest::without_health(version)?).await?;
    let (management, cluster) = stage.come_up(2).await?;
    print(stage)?;
    let own = stage.server.listed().await?;
    ensure!(own.is_empty(), "the server has made nodes itself: {own:?}");
    management.run("scale machinedeployment/local-workers --replicas 2").await?;
    machines::wait(&management, &cluster, 3, version, CHANGE).await?;
    stage.steps.done("a second worker")
}

fn print(stage: &Stage<'_>) -> Result<()> {
    let mut out = std::io::stdout();
    let seconds = stage.steps.seconds();
    let what = "CAPD as a process with Docker, from nothing to 1 + 1 Available and CoreDNS 2/2";
    writeln!(out, "figure: nodes: {what}: {seconds:.1} s")?;
    for process in usage::called(PROGRAM) {
        writeln!(out, "figure: nodes: CPU of CAPD's manager until then: {:.2} s", usage::cpu(process)?)?;
    }
    usage::print(stage)
}
