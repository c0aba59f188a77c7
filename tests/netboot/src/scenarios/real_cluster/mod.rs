//! A cluster with the real programs of Kubernetes, on machines that are switched off at the beginning, which then runs itself: the commands
//! of `docs/tutorials/air-gap.md`, literally.

mod by_hand;
mod observer;
mod picture;
mod site;

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clients::session::{Tools, play_in, root};

use self::observer::Observer;
use self::picture::Picture;
use self::site::{HTTPS, Site};
use crate::assets::assets;
use crate::kubernetes;
use crate::lab::run;
use crate::scenario::IPXE;

/// The page.
const PAGE: &str = "docs/tutorials/air-gap.md";
/// The machine on which the commands run.
const LAPTOP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 5);
/// The addresses of the BMCs in the manifests.
const BMCS: [Ipv4Addr; 3] =
    [Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 0, 0, 4)];
/// The address of the worker that is started by hand.
const WORKER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 11);
/// Limit for each command of the page, on a machine that does something else as well. The longest brings up the cluster and moves into it.
const COMMAND: Duration = Duration::from_secs(60 * 60);

/// A bundle -> power-off -> inspection -> a control plane and a worker with kubeadm -> the pivot into this cluster -> a pod on the worker
/// resolves a name and answers -> the cluster adds a third machine, and removes the second. Nothing asks for an address outside of the site.
/// Then the peer: the same two machines by hand.
pub async fn real_cluster() -> Result<()> {
    let site = Site::new().await?;
    let home = site.lab.file("home");
    std::fs::create_dir(&home)?;
    let tools = tools(&site).await?;
    let picture = Picture::new(&home, &tools);
    let observer = Observer::new(&site, &home, &picture);
    let page = root().join(PAGE);
    let played = async { play_in(&home, &page, &tools, false).await.context("the page") };
    let done = tokio::try_join!(played, observer.first_server());
    let outcome = match done {
        Ok(((), cluster)) => observer.is_untouched(&cluster).await.map(|()| cluster),
        Err(error) => Err(error),
    };
    let cluster = match outcome.and_then(|cluster| site.outside.is_silent().map(|()| cluster)) {
        Ok(cluster) => cluster,
        Err(error) => return Err(anyhow!("{error:#}{}", observer.explained().await)),
    };
    observer.say("the end of the page")?;
    let seconds = by_hand::both_nodes_are_ready(&site, &cluster).await?;
    let ratio = cluster.ready.as_secs_f64() / seconds;
    Ok(writeln!(
        std::io::stdout(),
        "figure: real cluster: by hand, from power-on to both Nodes Ready: {seconds:.0} s; the ratio is {ratio:.2}"
    )?)
}

/// Returns the programs and the files that the page starts with.
async fn tools(site: &Site) -> Result<Tools> {
    let boot_files = site.lab.file("boot-files");
    let text = |path: &std::path::Path| path.to_str().map(str::to_owned).context("a path that is text");
    run("cp", &["-r", &text(&assets())?, &text(&boot_files)?]).await?;
    run("cp", &["-r", IPXE, &text(&boot_files)?]).await?;
    let mut tools = Tools::find().map_err(|reason| anyhow!(reason))?;
    let busybox = site.lab.file("busybox.tar");
    node_programs::write_busybox(&busybox)?;
    tools.files.extend([
        ("boot-files", boot_files),
        ("node.qcow2", kubernetes::disk()),
        ("busybox.tar", busybox),
    ]);
    // On a real site they are elsewhere.
    let bmcs = BMCS.map(|address| format!("{address}:{HTTPS}"));
    tools.variables.push(("FIRSTLIGHT_BMC_ON_THIS_MACHINE", bmcs.join(",")));
    tools.deadline = COMMAND;
    Ok(tools)
}
