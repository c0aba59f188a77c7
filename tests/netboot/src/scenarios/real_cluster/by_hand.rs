//! The peer: the same two machines, with the image on their disks already, and the same configuration for kubeadm, which both begin with
//! as soon as they are switched on. Nobody who types could be faster.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use machinery::clock::Clock;
use serde_json::{Value, json};

use super::observer::{Cluster, is_ready};
use super::site::{Site, design};
use super::{COMMAND, WORKER};
use crate::kubernetes;
use crate::lab::run;
use crate::machine::{Boot, Design, Machine};
use crate::wait::until;

/// The router of the machines, which does not exist; kubeadm wants a route.
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Starts the machines of `cluster` anew by hand, and returns the seconds until both Nodes are Ready.
pub(super) async fn both_nodes_are_ready(site: &Site, cluster: &Cluster) -> Result<f64> {
    for machine in &site.machines {
        machine.power_off().await;
    }
    let plane = prepared(site, 0, Ipv4Addr::new(10, 0, 0, 10), &with_token(cluster)?).await?;
    let worker = prepared(site, 1, WORKER, &cluster.worker).await?;
    let start = Clock::system().monotonic();
    plane.power_on(&Boot::Disk).await?;
    worker.power_on(&Boot::Disk).await?;
    for name in ["host-0", "host-1"] {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        let what = format!("Node {name} Ready by hand");
        let ready = until(&what, COMMAND, || async {
            is_ready(&cluster.objects.get(&node).await.ok()?).then_some(())
        });
        ready
            .await
            .with_context(|| format!("{}\n---\n{}", plane.console().tail(), worker.console().tail()))?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Returns a machine with the image on its disk, and a configuration drive.
async fn prepared(site: &Site, number: u8, address: Ipv4Addr, user_data: &str) -> Result<Machine> {
    let name = format!("by-hand-{number}");
    let drive = site.lab.file(&format!("{name}.drive"));
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path that is text");
    let more =
        format!("-drive if=none,id=seed,format=raw,file={} -device virtio-blk-pci,drive=seed", text(&drive)?);
    let mac = design(number).mac;
    let files = json!({
        "meta_data.json": {"uuid": name, "name": format!("host-{number}"), "hostname": format!("host-{number}")},
        "network_data.json": network(&mac, address),
    });
    let folder = site.lab.file(&name);
    let latest = folder.join("openstack/latest");
    fs::create_dir_all(&latest)?;
    for (file, content) in files.as_object().into_iter().flatten() {
        fs::write(latest.join(file), content.to_string())?;
    }
    fs::write(latest.join("user_data"), user_data)?;
    fs::File::create(&drive)?.set_len(64 << 20)?;
    run("mformat", &["-i", &text(&drive)?, "-v", "config-2", "::"]).await?;
    run("mcopy", &["-s", "-i", &text(&drive)?, &text(&folder.join("openstack"))?, "::"]).await?;
    let design = Design { name, more, ..design(number) };
    let size = design.disk;
    let machine = Machine::new(&site.lab, design).await?;
    let disk = text(machine.disk())?;
    run("qemu-img", &["convert", "-O", "raw", &text(&kubernetes::disk())?, &disk]).await?;
    fs::File::options().write(true).open(&disk)?.set_len(size)?;
    Ok(machine)
}

fn network(mac: &str, address: Ipv4Addr) -> Value {
    json!({
        "links": [{"id": "nic", "type": "phy", "ethernet_mac_address": mac}],
        "networks": [{
            "id": "machines", "type": "ipv4", "link": "nic", "ip_address": address, "netmask": "255.255.255.0",
            "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": ROUTER}],
        }],
        "services": [{"type": "dns", "address": ROUTER}],
    })
}

/// Returns the user data of the control plane with the token of the worker, which Cluster API creates later.
fn with_token(cluster: &Cluster) -> Result<String> {
    let (_, token) = cluster.worker.split_once("token: ").context("a token in the worker's user data")?;
    let token = token.split_whitespace().next().unwrap_or_default().trim_matches('"');
    let kind = "kind: InitConfiguration\n";
    let (before, after) = cluster.control_plane.split_once(kind).context("an InitConfiguration")?;
    let line = before.rsplit('\n').next().unwrap_or_default();
    ensure!(line.trim().is_empty(), "the kind stands at the beginning of a line, not after {line:?}");
    Ok(format!("{before}{kind}{line}bootstrapTokens:\n{line}- token: {token}\n{after}"))
}
