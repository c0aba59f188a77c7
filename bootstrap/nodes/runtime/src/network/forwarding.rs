//! The setting with which the machine forwards packets of others. What it was before is in the alias of the bridge.

use std::fs;

use anyhow::{Context, Result};
use rtnetlink::LinkUnspec;

use super::{Links, Network, names};

const FILE: &str = "/proc/sys/net/ipv4/ip_forward";
/// What the alias of a bridge begins with. The earlier setting follows.
const ALIAS: &str = "firstlight: net.ipv4.ip_forward was ";

/// Lets the machine forward packets.
pub(super) async fn allow(links: &Links, network: &Network) -> Result<()> {
    let own = network.bridge();
    let all = links.all().await?;
    let bridge = all.iter().find(|link| names(link).0 == Some(&own));
    let unknown = bridge.filter(|link| names(link).1.and_then(before).is_none());
    if let Some(link) = unknown {
        // Another data directory has changed it first, and knows what it was.
        let value = match others(links, network).await? {
            Some(value) => value,
            None => read()?,
        };
        let link = LinkUnspec::new_with_index(link.header.index).alias(format!("{ALIAS}{value}")).build();
        links.set(link, "remember the setting net.ipv4.ip_forward").await?;
    }
    if read()? == "1" { Ok(()) } else { write("1") }
}

/// Sets it to what it was, unless the network of another data directory needs it.
pub(super) async fn restore(links: &Links, network: &Network) -> Result<()> {
    let Some(own) = links.find(&network.bridge()).await? else { return Ok(()) };
    let Some(value) = names(&own).1.and_then(before) else { return Ok(()) };
    if others(links, network).await?.is_some() || read()? == value {
        return Ok(());
    }
    write(value)
}

/// Returns what it was before other data directories have changed it; `None` if there are none.
async fn others(links: &Links, network: &Network) -> Result<Option<String>> {
    let own = network.bridge();
    let all = links.all().await?;
    let mut values =
        all.iter().map(names).filter(|(name, _)| *name != Some(&own)).filter_map(|(_, alias)| before(alias?));
    Ok(values.next().map(str::to_owned))
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
