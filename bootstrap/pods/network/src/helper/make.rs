//! Makes the network of a Pod: loopback, a device that leads to the gateway, and a listener for connections through it.

use std::fs::{self, File};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsRawFd, RawFd};

use anyhow::{Context, Result};
use rtnetlink::packet_route::address::AddressHeaderFlags;
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};
use tokio_tun::Tun;

use crate::addresses::six;
use crate::limits;

/// The name of the device in the Pod.
const DEVICE: &str = "eth0";
/// The port of the listener. Nobody uses it.
pub(crate) const PORT: u16 = 1;
/// Programs of any user may listen on all ports, as with other container runtimes.
const PORTS: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// The network of a Pod.
pub(super) struct Made {
    network: File,
    device: Tun,
    listener: TcpListener,
}

impl Made {
    pub(super) fn files(&self) -> [RawFd; 3] {
        [self.network.as_raw_fd(), self.device.as_raw_fd(), self.listener.as_raw_fd()]
    }
}

/// Makes everything in `network`, which this thread has entered.
pub(super) async fn make(network: File, address: Ipv4Addr) -> Result<Made> {
    let device = device().context("cannot make the device of a Pod's network")?;
    let (connection, handle, _) =
        rtnetlink::new_connection().context("cannot reach the kernel's network (netlink)")?;
    let connection = tokio::spawn(connection);
    let configured = configure(&handle, address).await;
    connection.abort();
    configured?;
    // A kernel that does not know it lets only root listen on the first 1024 ports.
    fs::write(PORTS, "0").ok();
    // It listens for both versions of IP, where the machine has both.
    let listener =
        TcpListener::bind((Ipv6Addr::UNSPECIFIED, PORT)).or_else(|_| TcpListener::bind((address, PORT)));
    let listener = listener.context("cannot listen in a Pod's network")?;
    Ok(Made { network, device, listener })
}

fn device() -> Result<Tun> {
    let mut made = Tun::builder().name(DEVICE).build()?;
    made.pop().context("there is no device")
}

async fn configure(handle: &Handle, address: Ipv4Addr) -> Result<()> {
    let index = |name: &str| {
        nix::net::if_::if_nametoindex(name).with_context(|| format!("there is no device {name}"))
    };
    let loopback = LinkUnspec::new_with_index(index("lo")?).up().build();
    handle.link().set(loopback).execute().await.context("cannot switch loopback on")?;
    let index = index(DEVICE)?;
    let size = u32::try_from(limits::PACKET)?;
    let link = LinkUnspec::new_with_index(index).mtu(size).up().build();
    handle.link().set(link).execute().await.context("cannot switch the device on")?;
    let add = handle.address().add(index, address.into(), 32).execute().await;
    add.with_context(|| format!("cannot set the address {address}"))?;
    let scope = rtnetlink::packet_route::route::RouteScope::Link;
    let route = RouteMessageBuilder::<Ipv4Addr>::new().output_interface(index).scope(scope);
    handle.route().add(route.build()).execute().await.context("cannot set the route to the gateway")?;
    // On a machine without IPv6, the Pod has none either, and sees at once that it cannot reach such addresses.
    configure_six(handle, index, six(address)).await.ok();
    Ok(())
}

async fn configure_six(handle: &Handle, index: u32, address: Ipv6Addr) -> Result<()> {
    let mut add = handle.address().add(index, address.into(), 128);
    // Nobody else is on the device. Without the flag, the kernel uses no new address until it has looked for duplicates: what the Pod connects
    // before has an address of the link as its source, which the gateway does not know.
    add.message_mut().header.flags.insert(AddressHeaderFlags::Nodad);
    add.execute().await?;
    let route = RouteMessageBuilder::<Ipv6Addr>::new().output_interface(index);
    Ok(handle.route().add(route.build()).execute().await?)
}
