//! The bridge, and the links of containers to it.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use rtnetlink::packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use rtnetlink::{LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVeth};

use super::{Links, Network, hardware, is};

/// The name of the link in a container.
pub(super) const INSIDE: &str = "eth0";

/// Makes the bridge, or what is missing of it.
pub(super) async fn make(links: &Links, network: &Network) -> Result<()> {
    let name = network.bridge();
    let gateway = network.range.gateway();
    if links.find(&name).await?.is_none() {
        let link = LinkBridge::new(&name).address(hardware(gateway)).build();
        let made = links.handle.link().add(link).execute().await;
        made.with_context(|| {
            format!("cannot make the bridge {name}: does the kernel have bridges (modprobe bridge)?")
        })?;
    }
    let found = links.find(&name).await?.with_context(|| format!("the bridge {name} was removed"))?;
    ensure!(
        kind(&found) == Some(&InfoKind::Bridge),
        "there is a link {name} that is no bridge, and was made by another program: remove it (ip link delete {name})"
    );
    let index = found.header.index;
    let added = links.handle.address().add(index, gateway.into(), network.range.length).execute().await;
    match added {
        Err(error) if is(&error, nix::errno::Errno::EEXIST) => {}
        added => added.with_context(|| format!("cannot give the bridge {name} the address {gateway}"))?,
    }
    links.up(index, &name).await
}

/// Makes a bridge and a link, to find out whether the kernel has them.
pub(super) async fn detect() -> Result<()> {
    let links = Links::open()?;
    let bridge = links.handle.link().add(LinkBridge::new("trial").build()).execute().await;
    bridge.context("the kernel has no bridges: load them with `modprobe bridge`")?;
    let link = links.handle.link().add(LinkVeth::new("trial0", "trial1").build()).execute().await;
    link.context("the kernel has no links between networks: load them with `modprobe veth`")
}

fn kind(link: &LinkMessage) -> Option<&InfoKind> {
    let info = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::LinkInfo(info) => Some(info),
        _ => None,
    })?;
    info.iter().find_map(|info| match info {
        LinkInfo::Kind(kind) => Some(kind),
        _ => None,
    })
}

/// Connects the network namespace of a process with the bridge. The namespace has only loopback before.
///
/// # Errors
/// There is no bridge, or the kernel refuses it.
pub(crate) async fn connect(network: &Network, address: Ipv4Addr, process: u32) -> Result<()> {
    let links = Links::open()?;
    let (name, bridge) = (network.link(address), network.bridge());
    // The kernel removes the link of an earlier start with its namespace, but not at once.
    links.remove(&name).await?;
    let inside = LinkMessageBuilder::<LinkUnspec>::new()
        .name(INSIDE)
        .address(hardware(address))
        .setns_by_pid(process)
        .build();
    let link = LinkVeth::new(&name, INSIDE).set_info_data(InfoData::Veth(InfoVeth::Peer(inside))).build();
    let made = links.handle.link().add(link).execute().await;
    made.with_context(|| {
        format!("cannot make the link {name}: does the kernel have links (modprobe veth)?")
    })?;
    let found = links.find(&bridge).await?.with_context(|| {
        format!("there is no bridge {bridge}: somebody has removed it; start the container again")
    })?;
    let own = links.find(&name).await?.with_context(|| format!("the link {name} was removed"))?;
    let index = own.header.index;
    let port = LinkUnspec::new_with_index(index).controller(found.header.index).build();
    links.set(port, &format!("connect the link {name} with the bridge {bridge}")).await?;
    links.up(index, &name).await
}

/// Removes the link of a container. Nothing happens if it is not there.
///
/// # Errors
/// The kernel refuses it.
pub(crate) async fn disconnect(network: &Network, address: Ipv4Addr) -> Result<()> {
    Links::open()?.remove(&network.link(address)).await
}
