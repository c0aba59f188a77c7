//! The ports of a container that shares the network of this machine: known flags of providers move them. Everything here is pure.
//!
//! The flags are those of controller-runtime's managers, as Cluster API and its providers name them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::Container;

/// Flags whose value is a port.
const PORTS: [&str; 4] = ["webhook-port", "health-port", "metrics-port", "webhook-bind-port"];
/// Flags whose value is a port after a host, which may be empty.
const ADDRESSES: [&str; 11] = [
    "health-addr",
    "healthz-addr",
    "health-probe-addr",
    "health-probe-bind-address",
    "metrics-addr",
    "metrics-bind-addr",
    "metrics-bind-address",
    "diagnostics-address",
    "profiler-address",
    "webhook-bind-address",
    "webhook-addr",
];
/// The ports of managers without such a flag in their arguments, with the flags that move them.
const DEFAULTS: [(u16, &[&str]); 5] = [
    (9443, &["webhook-port"]),
    (9440, &["health-addr", "health-probe-bind-address"]),
    (8443, &["diagnostics-address", "metrics-bind-address"]),
    (8080, &["metrics-bind-addr", "metrics-bind-address", "metrics-addr"]),
    (8081, &["health-probe-bind-address", "health-addr"]),
];

/// A port that a container cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The port that it gets instead.
    pub to: u16,
    /// Who has the port.
    pub other: String,
}

/// Returns the ports on which a container says that it listens: those that it names, and those of known flags.
pub fn wanted(container: &Container) -> BTreeSet<u16> {
    let is_tcp = |protocol: &Option<String>| protocol.as_deref().unwrap_or("TCP") == "TCP";
    let named = container.ports.iter().flatten().filter(|port| is_tcp(&port.protocol));
    let mut ports: BTreeSet<u16> = named.filter_map(|port| u16::try_from(port.container_port).ok()).collect();
    let words: Vec<&String> =
        container.command.iter().flatten().chain(container.args.iter().flatten()).collect();
    for (at, word) in words.iter().enumerate() {
        let Some((flag, value)) = flag(word) else { continue };
        let value = value.or_else(|| words.get(at + 1).map(|next| next.as_str()));
        ports.extend(value.and_then(|value| port_of(flag, value)));
    }
    // Port 0 is any free port, and switches controller-runtime's listeners off.
    ports.remove(&0);
    ports
}

/// Changes the arguments of a command so that it listens elsewhere. `knows` returns whether the program has a flag of this name.
///
/// # Errors
/// No flag can move a port; the message names who has it.
pub fn moved(
    mut command: Vec<String>,
    moves: &BTreeMap<u16, Move>,
    knows: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Vec<String>> {
    for (port, target) in moves {
        if replace(&mut command, *port, target.to) {
            continue;
        }
        let known = DEFAULTS.iter().find(|(default, _)| default == port);
        let known = known.and_then(|(_, flags)| flags.iter().find(|flag| knows(flag)));
        match known {
            Some(flag) if PORTS.contains(flag) => command.push(format!("--{flag}={}", target.to)),
            Some(flag) => command.push(format!("--{flag}=:{}", target.to)),
            None => bail!(
                "{} listens on the port {port}, both use the network of this machine, and no flag is known that moves this program; give this Pod another port in its arguments",
                target.other
            ),
        }
    }
    Ok(command)
}

/// Replaces a port in the values of known flags, and returns whether there was one.
fn replace(command: &mut [String], from: u16, to: u16) -> bool {
    let mut is_found = false;
    for at in 1..command.len() {
        let Some((name, value)) = flag(&command[at]) else { continue };
        let (place, value) = match value {
            Some(value) => (at, value.to_owned()),
            None => match command.get(at + 1) {
                Some(next) => (at + 1, next.clone()),
                None => continue,
            },
        };
        if port_of(name, &value) == Some(from) {
            let host = value.strip_suffix(&from.to_string()).unwrap_or_default().to_owned();
            let start = command[place].len() - value.len();
            command[place].replace_range(start.., &format!("{host}{to}"));
            is_found = true;
        }
    }
    is_found
}

/// Returns the name of a flag, and its value if that is in the same word.
fn flag(word: &str) -> Option<(&str, Option<&str>)> {
    let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    Some(match flag.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (flag, None),
    })
}

/// Returns the port in the value of a known flag.
fn port_of(flag: &str, value: &str) -> Option<u16> {
    if PORTS.contains(&flag) {
        return value.parse().ok();
    }
    let port = value.rsplit_once(':')?.1;
    if ADDRESSES.contains(&flag) { port.parse().ok() } else { None }
}
