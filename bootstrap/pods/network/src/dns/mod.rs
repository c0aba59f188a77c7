//! Questions about names, which the gateway answers: those about Services itself, all others by the name servers of this machine.

mod forward;
pub mod message;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

pub(crate) use forward::forward;
pub(crate) use message::{Question, answer, failed};

/// The port of name servers.
pub(crate) const PORT: u16 = 53;
/// The domain of a cluster's names.
const CLUSTER_DOMAIN: &str = "cluster.local";

/// A name of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A Service.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Nothing that exists here.
    Nothing,
}

/// Reads a name like `name.namespace.svc`, with or without `cluster.local`; `None` if the cluster does not have such names.
pub fn service(name: &str) -> Option<Named> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let own = name.strip_suffix(CLUSTER_DOMAIN).and_then(|rest| rest.strip_suffix('.'));
    let Some(rest) = own.unwrap_or(&name).strip_suffix(".svc") else {
        return (own.is_some() || name == CLUSTER_DOMAIN).then_some(Named::Nothing);
    };
    Some(match rest.split_once('.') {
        Some((name, namespace)) if !namespace.contains('.') && !name.is_empty() => {
            Named::Service { namespace: namespace.to_owned(), name: name.to_owned() }
        }
        _ => Named::Nothing,
    })
}

/// Returns the name servers of a `resolv.conf`.
pub fn name_servers(resolv_conf: &Path) -> Vec<SocketAddr> {
    let text = std::fs::read_to_string(resolv_conf).unwrap_or_default();
    let named = words(&text, "nameserver").filter_map(|mut words| words.next()?.parse::<IpAddr>().ok());
    named.map(|address| SocketAddr::new(address, PORT)).collect()
}

/// Returns the `resolv.conf` of a Pod in this namespace, beside the list of this machine, whose domains are searched last.
pub fn resolv_conf(namespace: &str, gateway: Ipv4Addr, of_machine: &Path) -> String {
    let text = std::fs::read_to_string(of_machine).unwrap_or_default();
    let mut search = vec![
        format!("{namespace}.svc.{CLUSTER_DOMAIN}"),
        format!("svc.{CLUSTER_DOMAIN}"),
        CLUSTER_DOMAIN.to_owned(),
    ];
    if let Some(last) = words(&text, "search").last() {
        search.extend(last.filter(|domain| *domain != ".").map(str::to_owned));
    }
    format!("nameserver {gateway}\nsearch {}\noptions ndots:5\n", search.join(" "))
}

/// Returns the words of each line that begins with `key`, without it.
fn words<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = std::str::SplitWhitespace<'a>> {
    text.lines().filter_map(move |line| {
        let mut words = line.split_whitespace();
        (words.next()? == key).then_some(words)
    })
}
