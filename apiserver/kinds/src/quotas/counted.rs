//! The resources whose objects quotas count, and what one object uses.

use chrono::{DateTime, Utc};
use machinery::quantity::Quantity;
use serde_json::Value;

use super::amounts::{self, Amounts};
use super::{pods, scopes};
use crate::Subresource;
use crate::fields::{list, text};

/// What follows the name of a storage class in the name of a quota's resource.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";
/// Resources that can be counted by their plural alone.
const PLAIN: [&str; 4] = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/// A resource of the API whose objects quotas count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Counted<'a> {
    group: &'a str,
    plural: &'a str,
}

/// Returns a number of objects.
pub(super) fn count(number: usize) -> Quantity {
    Quantity::parse(&number.to_string()).unwrap_or(Quantity::from_int(0))
}

impl<'a> Counted<'a> {
    /// Returns a resource; `None` for those that quotas ignore.
    pub fn new(group: &'a str, plural: &'a str) -> Option<Self> {
        let is_ignored = match group {
            "" => matches!(plural, "bindings" | "componentstatuses" | "events"),
            "events.k8s.io" => plural == "events",
            "authentication.k8s.io" => matches!(plural, "tokenreviews" | "selfsubjectreviews"),
            "authorization.k8s.io" => true,
            _ => false,
        };
        (!is_ignored).then_some(Self { group, plural })
    }

    /// Returns whether objects have to be looked at to know what they use.
    pub fn differs(&self) -> bool {
        self.group.is_empty() && matches!(self.plural, "pods" | "services" | "persistentvolumeclaims")
    }

    /// Returns whether these objects use a resource of a quota.
    pub fn uses(&self, name: &str) -> bool {
        if let Some(counted) = name.strip_prefix("count/") {
            let rest = counted.strip_prefix(self.plural);
            return rest.is_some_and(|rest| {
                if self.group.is_empty() {
                    rest.is_empty()
                } else {
                    rest.strip_prefix('.') == Some(self.group)
                }
            });
        }
        if !self.group.is_empty() {
            return false;
        }
        match self.plural {
            "pods" => pods::uses(name),
            "services" => matches!(name, "services" | "services.nodeports" | "services.loadbalancers"),
            "persistentvolumeclaims" => {
                let of_class = name.split_once(OF_CLASS).map(|(_, resource)| resource);
                matches!(of_class.unwrap_or(name), "persistentvolumeclaims" | "requests.storage")
            }
            plural => plural == name && PLAIN.contains(&name),
        }
    }

    /// Returns whether a write can change what the object uses. `old` is the object before an update.
    pub fn is_charged(&self, part: Subresource, object: &Value, old: Option<&Value>) -> bool {
        let is_core = self.group.is_empty();
        match (self.plural, part, old) {
            (_, Subresource::None, None) => true,
            ("pods", Subresource::None, Some(old)) if is_core => {
                scopes::is_terminating(object) != scopes::is_terminating(old)
            }
            ("services" | "persistentvolumeclaims", Subresource::None, Some(_))
            | ("pods", Subresource::Resize, Some(_)) => is_core,
            ("persistentvolumeclaims", Subresource::Status, Some(old)) if is_core => {
                object["status"] != old["status"]
            }
            _ => false,
        }
    }

    /// Returns whether an object is in the scopes of a quota.
    pub fn is_in_scope(&self, quota: &Value, object: &Value) -> bool {
        match self.plural {
            "pods" if self.group.is_empty() => scopes::has_pod(quota, object),
            "persistentvolumeclaims" if self.group.is_empty() => scopes::has_claim(quota, object),
            _ => !scopes::has_scopes(quota),
        }
    }

    /// Returns what an object uses.
    pub(super) fn usage(&self, object: &Value, now: DateTime<Utc>) -> Amounts {
        let mut used = match self.plural {
            "pods" if self.group.is_empty() => pods::usage(object, now),
            "services" if self.group.is_empty() => of_service(object),
            "persistentvolumeclaims" if self.group.is_empty() => of_claim(object),
            _ => Amounts::new(),
        };
        used.extend(self.number(1));
        used
    }

    /// Returns what a number of objects uses whose content does not matter.
    pub(super) fn number(&self, number: usize) -> Amounts {
        let name = match self.group {
            "" => format!("count/{}", self.plural),
            group => format!("count/{}.{group}", self.plural),
        };
        let mut used = Amounts::from([(name, count(number))]);
        if self.group.is_empty() && PLAIN.contains(&self.plural) {
            used.insert(self.plural.to_owned(), count(number));
        }
        used
    }

    /// Returns why a quota does not count a pod that does not say what it needs.
    pub(super) fn unspecified(&self, limited: &[&str], object: &Value) -> Option<String> {
        (self.group.is_empty() && self.plural == "pods").then(|| pods::unspecified(limited, object))?
    }
}

fn of_service(service: &Value) -> Amounts {
    let spec = &service["spec"];
    let ports = list(spec, "ports");
    let chosen =
        || ports.iter().filter(|port| port["nodePort"].as_i64().is_some_and(|port| port != 0)).count();
    let (balancers, node_ports) = match text(spec, "type") {
        "NodePort" => (0, ports.len()),
        "LoadBalancer" if spec["allocateLoadBalancerNodePorts"] == false => (1, chosen()),
        "LoadBalancer" => (1, ports.len()),
        _ => (0, 0),
    };
    let names = ["services", "services.loadbalancers", "services.nodeports"].map(str::to_owned);
    names.into_iter().zip([1, balancers, node_ports].map(count)).collect()
}

fn of_claim(claim: &Value) -> Amounts {
    const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let asked = amounts::read(&claim["spec"]["resources"]["requests"]).get("storage").copied();
    let allocated = amounts::read(&claim["status"]["allocatedResources"]).get("storage").copied();
    let larger = allocated.filter(|allocated| asked.is_some_and(|asked| allocated.compare(&asked).is_gt()));
    let storage = larger.or(asked).map(whole);
    let annotated = claim["metadata"]["annotations"][CLASS].as_str();
    let class = annotated.unwrap_or_else(|| text(&claim["spec"], "storageClassName"));
    let mut used = Amounts::new();
    let each = [("persistentvolumeclaims", Some(count(1))), ("requests.storage", storage)];
    for (name, amount) in each.into_iter().filter_map(|(name, amount)| Some((name, amount?))) {
        used.insert(name.to_owned(), amount);
        if !class.is_empty() {
            used.insert(format!("{class}{OF_CLASS}{name}"), amount);
        }
    }
    used
}

/// Rounds up to whole bytes, because quotas of storage are whole.
fn whole(amount: Quantity) -> Quantity {
    const UNIT: i128 = 1_000_000_000;
    match amount.nanos() {
        Some(nanos) if nanos % UNIT > 0 => Quantity::parse(&(nanos / UNIT + 1).to_string()).unwrap_or(amount),
        _ => amount,
    }
}
