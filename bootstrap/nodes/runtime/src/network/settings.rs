//! The settings of the kernel that containers need (sysctls). What they were before is in the alias of the bridge.
//!
//! Invariant: this program writes the least value of a setting and no other, so a lower value is somebody else's, and is what is remembered; a
//! value that is not the least one when the last container is removed is somebody else's, too, and stays.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use rtnetlink::LinkUnspec;
use rtnetlink::packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage};

use super::{Links, Network, names};

/// A setting of the kernel.
pub struct Setting {
    /// Its name, as sysctl(8) has it.
    pub name: &'static str,
    /// The least value with which containers run well.
    pub least: i64,
    /// Whether no container can run without it.
    is_required: bool,
}

/// Whether the machine forwards packets of others.
const FORWARD: &str = "net.ipv4.ip_forward";

/// The settings that containers need.
pub const SETTINGS: [Setting; 3] = [
    // A node takes about 30 instances, all nodes of one user. The kernel allows a user 128.
    Setting { name: "fs.inotify.max_user_instances", least: 8192, is_required: false },
    Setting { name: "fs.inotify.max_user_watches", least: 524_288, is_required: false },
    Setting { name: FORWARD, least: 1, is_required: true },
];

/// Values of settings, by name.
pub type Values = BTreeMap<&'static str, i64>;

/// What the alias of a bridge begins with. The earlier values follow in the order of their names, in at most the 255 bytes of the kernel. Earlier
/// versions of this program know `net.ipv4.ip_forward` alone: it is the last one, so that they do not take a longer list for its value.
const ALIAS: &str = "firstlight: ";

/// What is done before containers run.
#[derive(Debug, PartialEq, Eq)]
pub struct Raise {
    /// The new alias of the bridge; `None` if it stays.
    pub alias: Option<String>,
    /// The values that are written after that.
    pub write: Values,
}

/// Returns what is done before containers run, from the values of now, the alias of the bridge, and the aliases of all other links. What
/// another data directory has changed is remembered here, too, so that the last one restores it.
pub fn to_raise(now: &Values, own: Option<&str>, others: &[&str]) -> Raise {
    let known = own.map(remembered).unwrap_or_default();
    let (mut earlier, mut write) = (known.clone(), Values::new());
    for Setting { name, least, .. } in &SETTINGS {
        let Some(value) = now.get(name) else { continue };
        if value < least {
            earlier.insert(name, *value);
            write.insert(name, *least);
        } else if let Some(value) = others.iter().find_map(|alias| remembered(alias).remove(name)) {
            earlier.entry(name).or_insert(value);
        }
    }
    Raise { alias: (earlier != known).then(|| text(&earlier)), write }
}

/// Returns the values that are written after the last container: those that the bridge remembers, unless the network of another data
/// directory remembers them, too, or somebody has changed the setting meanwhile.
pub fn to_restore(now: &Values, own: Option<&str>, others: &[&str]) -> Values {
    let needed: Values = others.iter().flat_map(|alias| remembered(alias)).collect();
    let mut earlier = own.map(remembered).unwrap_or_default();
    earlier.retain(|name, value| {
        let least = SETTINGS.iter().find(|setting| setting.name == *name).map(|setting| setting.least);
        !needed.contains_key(name) && now.get(name).copied() == least && least != Some(*value)
    });
    earlier
}

fn remembered(alias: &str) -> Values {
    let entries = alias.strip_prefix(ALIAS).into_iter().flat_map(|list| list.split(", "));
    let known = entries.filter_map(|entry| {
        let (name, value) = entry.split_once(" was ")?;
        let setting = SETTINGS.iter().find(|setting| setting.name == name)?;
        Some((setting.name, value.parse().ok()?))
    });
    known.collect()
}

fn text(earlier: &Values) -> String {
    let entries: Vec<_> = earlier.iter().map(|(name, value)| format!("{name} was {value}")).collect();
    format!("{ALIAS}{}", entries.join(", "))
}

/// Raises the settings that are too low.
///
/// # Errors
/// The machine cannot forward packets, or the kernel refuses to remember what was before.
pub(super) async fn raise(links: &Links, network: &Network) -> Result<()> {
    let (own, all) = (network.bridge(), links.all().await?);
    let (alias, others) = aliases(&all, &own);
    let raise = to_raise(&read_all()?, alias, &others);
    let bridge = all.iter().find(|link| names(link).0 == Some(&own));
    if let Some((link, alias)) = bridge.zip(raise.alias) {
        let link = LinkUnspec::new_with_index(link.header.index).alias(alias).build();
        links.set(link, "remember the settings of the kernel").await?;
    }
    write(&raise.write)
}

/// Gives the settings their earlier values.
///
/// # Errors
/// The kernel refuses that of a setting without which no container runs.
pub(super) async fn restore(links: &Links, network: &Network) -> Result<()> {
    let (own, all) = (network.bridge(), links.all().await?);
    let (alias, others) = aliases(&all, &own);
    let mut values = to_restore(&read_all()?, alias, &others);
    if all.iter().any(|link| is_bridge(link) && names(link).0 != Some(&own)) {
        // Docker and others set the same value, and would lose their networks.
        values.remove(FORWARD);
    }
    write(&values)
}

fn is_bridge(link: &LinkMessage) -> bool {
    let is_bridge = |info: &LinkInfo| matches!(info, LinkInfo::Kind(InfoKind::Bridge));
    link.attributes.iter().any(|attribute| match attribute {
        LinkAttribute::LinkInfo(infos) => infos.iter().any(is_bridge),
        _ => false,
    })
}

/// Returns whether this process can change a setting. It is not changed.
pub(crate) fn can_write(name: &str) -> bool {
    fs::File::options().write(true).open(path(name)).is_ok()
}

/// Returns the alias of the link called `own`, and those of all others.
fn aliases<'a>(all: &'a [LinkMessage], own: &str) -> (Option<&'a str>, Vec<&'a str>) {
    let (mine, others): (Vec<_>, Vec<_>) = all.iter().map(names).partition(|(name, _)| *name == Some(own));
    let alias = mine.into_iter().find_map(|(_, alias)| alias);
    (alias, others.into_iter().filter_map(|(_, alias)| alias).collect())
}

fn path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Returns the value of a setting.
///
/// # Errors
/// The kernel has none of this name, or it cannot be read.
pub(crate) fn read(name: &str) -> Result<i64> {
    let path = path(name);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    text.trim().parse().with_context(|| format!("{path} has no number"))
}

fn read_all() -> Result<Values> {
    let mut values = Values::new();
    for Setting { name, is_required, .. } in &SETTINGS {
        let read = read(name);
        // The kernel has no inotify, perhaps.
        if read.is_err() && !is_required {
            continue;
        }
        values.insert(name, read?);
    }
    Ok(values)
}

fn write(values: &Values) -> Result<()> {
    for (name, value) in values {
        let path = path(name);
        let written =
            fs::write(&path, value.to_string()).with_context(|| format!("cannot write {value} to {path}"));
        match written {
            Err(error) if SETTINGS.iter().any(|setting| setting.name == *name && !setting.is_required) => {
                tracing::warn!("{error:#}: set it with `sysctl {name}={value}` where that is allowed");
            }
            written => written?,
        }
    }
    Ok(())
}
