//! The network of a container, seen from inside.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use rtnetlink::RouteMessageBuilder;

use super::bridge::INSIDE;
use super::{Links, Range};

/// Configures the network of this process: loopback, its address, and the way to the outside.
///
/// # Errors
/// The link is not there, or the kernel refuses something.
pub(crate) async fn configure(range: Range, address: Ipv4Addr) -> Result<()> {
    let links = Links::open()?;
    let index = async |name: &str| -> Result<u32> {
        let found = links.find(name).await?;
        Ok(found.with_context(|| format!("there is no link {name} in the container"))?.header.index)
    };
    links.up(index("lo").await?, "lo").await?;
    let inside = index(INSIDE).await?;
    let add = links.handle.address().add(inside, address.into(), range.length).execute().await;
    add.with_context(|| format!("cannot set the address {address}"))?;
    links.up(inside, INSIDE).await?;
    let route =
        RouteMessageBuilder::<Ipv4Addr>::new().output_interface(inside).gateway(range.gateway()).build();
    let add = links.handle.route().add(route).execute().await;
    add.context("cannot set the route to the outside")
}
