//! The interfaces of the machine and their configuration by netlink.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};

use super::lease::Lease;

/// The content of `/sys/class/net/*/type` for Ethernet.
const ETHERNET: &str = "1";

/// A wired network interface.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The name of the interface.
    pub name: String,
    /// The interface index.
    pub index: u32,
    /// The MAC address.
    pub mac: [u8; 6],
}

impl Link {
    /// Returns the MAC address in the form `52:54:00:01:02:03`.
    pub fn mac_text(&self) -> String {
        let parts: Vec<String> = self.mac.iter().map(|byte| format!("{byte:02x}")).collect();
        parts.join(":")
    }
}

/// Parses a MAC address with colons or dashes.
pub fn read_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.trim().split([':', '-']);
    for byte in &mut mac {
        let part = parts.next().filter(|part| part.len() == 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// Returns the hardware interfaces in `folder` (`/sys/class/net`), sorted by name.
pub fn interfaces(folder: &Path) -> Vec<Link> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<Link> = entries
        .flatten()
        .filter_map(|entry| {
            let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).ok();
            let hardware = entry.path().join("device").exists();
            if !hardware || read("type")?.trim() != ETHERNET {
                return None;
            }
            Some(Link {
                name: entry.file_name().to_str()?.to_owned(),
                index: read("ifindex")?.trim().parse().ok()?,
                mac: read_mac(&read("address")?)?,
            })
        })
        .collect();
    found.sort();
    found
}

/// Configures interfaces.
#[derive(Clone)]
pub struct Links(Handle);

impl Links {
    /// Opens the netlink socket.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    pub fn open() -> Result<Self> {
        let (connection, handle, _) =
            rtnetlink::new_connection().context("cannot reach the kernel's network (netlink)")?;
        tokio::spawn(connection);
        Ok(Self(handle))
    }

    /// Activates an interface in all-multicast mode: switches send to a group that the kernel does not receive by itself
    /// (01:80:c2:00:00:0e, [`super::lldp`]).
    ///
    /// # Errors
    /// The kernel refuses the change.
    pub async fn up(&self, index: u32) -> Result<()> {
        let message = LinkUnspec::new_with_index(index).up().allmulticast(true).build();
        self.0.link().set(message).execute().await.context("cannot switch the interface on")
    }

    /// Sets the address, the MTU and the routes of a lease on an interface; an equal address or route is replaced.
    ///
    /// # Errors
    /// The kernel refuses a change.
    pub async fn configure(&self, link: &Link, lease: &Lease) -> Result<()> {
        if let Some(mtu) = lease.mtu {
            let message = LinkUnspec::new_with_index(link.index).mtu(mtu.into()).build();
            self.0.link().set(message).execute().await.context("cannot set the packet size")?;
        }
        let address = self.0.address().add(link.index, lease.address.into(), lease.prefix).replace();
        address.execute().await.with_context(|| format!("cannot set {}/{}", lease.address, lease.prefix))?;
        // If two interfaces have default routes, the one with the lower index is preferred, and the other one is the fallback.
        let metric = 100 + link.index;
        if lease.routes.is_empty() {
            if let Some(router) = lease.router {
                self.route(link.index, metric, Ipv4Addr::UNSPECIFIED, 0, router).await?;
            }
        } else {
            for (destination, bits, router) in &lease.routes {
                self.route(link.index, metric, *destination, *bits, *router).await?;
            }
        }
        Ok(())
    }

    async fn route(&self, index: u32, metric: u32, to: Ipv4Addr, bits: u8, router: Ipv4Addr) -> Result<()> {
        let mut route = RouteMessageBuilder::<Ipv4Addr>::new().output_interface(index).priority(metric);
        if bits > 0 {
            route = route.destination_prefix(to, bits);
        }
        if router.is_unspecified() {
            route = route.scope(rtnetlink::packet_route::route::RouteScope::Link);
        } else {
            // With a prefix of 32 bits the router is not in the interface's network, so the route is marked as on-link.
            route = route.gateway(router).onlink();
        }
        let add = self.0.route().add(route.build()).replace().execute().await;
        add.with_context(|| format!("cannot set the route to {to}/{bits} by {router}"))
    }
}
