//! The setting with which the machine forwards packets of others. What it was before is in the alias of the bridge.

use std::fs;

use anyhow::{Context, Result};
use rtnetlink::LinkUnspec;
use rtnetlink::packet_route::link::LinkMessage;

use super::{Links, Network, names};

const FILE: &str = "/proc/sys/net/ipv4/ip_forward";
/// What the alias of a bridge begins with. The earlier setting follows.
const ALIAS: &str = "firstlight: net.ipv4.ip_forward was ";

/// Lets the machine forward packets.
pub(super) async fn allow(links: &Links, network: &Network) -> Result<()> {
    let (own, all) = (network.bridge(), links.all().await?);
    let bridge = all.iter().find(|link| names(link).0 == Some(&own));
    let unknown = bridge.filter(|link| names(link).1.and_then(before).is_none());
    if let Some(link) = unknown {
        let value = match others(&all, &own) {
            Some(value) => value.to_owned(),
            None => read()?,
        };
        let link = LinkUnspec::new_with_index(link.header.index).alias(format!("{ALIAS}{value}")).build();
        links.set(link, "remember the setting net.ipv4.ip_forward").await?;
    }
    if read()? == "1" { Ok(()) } else { write("1") }
}

/// Gives the setting its earlier value, unless the network of another data directory needs it.
pub(super) async fn restore(links: &Links, network: &Network) -> Result<()> {
    let (own, all) = (network.bridge(), links.all().await?);
    let bridge = all.iter().find(|link| names(link).0 == Some(&own));
    let Some(value) = bridge.and_then(|link| names(link).1).and_then(before) else { return Ok(()) };
    if others(&all, &own).is_some() || read()? == value {
        return Ok(());
    }
    write(value)
}

/// Returns the earlier value of the setting that the bridge of another data directory remembers. That data directory changed the setting
/// before this one. `None` if no other bridge remembers a value.
fn others<'a>(all: &'a [LinkMessage], own: &str) -> Option<&'a str> {
    let mut others = all.iter().map(names).filter(|(name, _)| *name != Some(own));
    others.find_map(|(_, alias)| before(alias?))
}

fn before(alias: &str) -> Option<&str> {
    alias.strip_prefix(ALIAS)
}

fn read() -> Result<String> {
    Ok(fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?.trim().to_owned())
}

fn write(value: &str) -> Result<()> {
    fs::write(FILE, value).with_context(|| format!("cannot write {value} to {FILE}"))
}
