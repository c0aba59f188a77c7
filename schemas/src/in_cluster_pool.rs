//! What a pool of the in-cluster IPAM provider allocates. Admission and the controllers of pools share these rules.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::addresses::{AddressSet, network, parse_range, width};
use crate::ipam::InClusterIPPoolSpec;

/// The number of problems that are reported of one pool: a pool can have a hundred thousand entries, and a message cannot.
pub const MAX_PROBLEMS: usize = 10;

/// Something in a pool that cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The path of the field.
    pub field: String,
    /// Its value; null for a field that is missing.
    pub value: Value,
    /// What is wrong with it.
    pub detail: String,
}

/// Returns the addresses that a pool allocates: `addresses` without `excludedAddresses`, the reserved ones and the gateway. Its cost
/// depends on the number of entries only.
///
/// # Errors
/// What is wrong with the pool, at most [`MAX_PROBLEMS`] entries.
pub fn allocatable(spec: &InClusterIPPoolSpec) -> Result<AddressSet, Vec<Problem>> {
    let mut reading = Reading::default();
    if spec.addresses.is_empty() {
        reading.problem("spec.addresses", Value::Null, "must have at least one address");
    }
    if !(1..=128).contains(&spec.prefix) {
        reading.problem(
            "spec.prefix",
            json!(spec.prefix),
            "must be the length of the network's prefix, such as 24",
        );
    }
    let addresses = reading.ranges("spec.addresses", &spec.addresses);
    let excluded = reading.ranges("spec.excludedAddresses", &spec.excluded_addresses);
    let gateway = reading.gateway(spec);
    reading.families(spec, &addresses, &excluded, gateway);
    let mut all: AddressSet = AddressSet::default();
    addresses.iter().for_each(|(_, (first, last))| all.insert_range(*first, *last));
    let Some(lowest) = all.first().filter(|_| reading.problems.is_empty()) else {
        return Err(reading.problems);
    };
    let network = u32::try_from(spec.prefix).ok().and_then(|prefix| network(lowest, prefix));
    let Some((first, last)) = network else {
        let detail =
            format!("must not be more than {}, since the addresses are those of IPv4", width(lowest));
        reading.problem("spec.prefix", json!(spec.prefix), detail);
        return Err(reading.problems);
    };
    for (index, (from, to)) in &addresses {
        if *from < first || *to > last {
            let detail = format!(
                "must be inside of {first}/{}, the network of the lowest address and prefix",
                spec.prefix
            );
            reading.problem(&format!("spec.addresses[{index}]"), json!(spec.addresses.get(*index)), detail);
        }
    }
    if !reading.problems.is_empty() {
        return Err(reading.problems);
    }
    excluded.iter().for_each(|(_, (first, last))| all.remove_range(*first, *last));
    if spec.allocate_reserved_ip_addresses != Some(true) {
        all.remove(first);
        if last.is_ipv4() {
            all.remove(last);
        }
    }
    if let Some(gateway) = gateway {
        all.remove(gateway);
    }
    Ok(all)
}

/// Returns what is wrong with a change of a pool: the addresses that its IPAddresses have, `allocated`, and that it would no longer
/// have; at most [`MAX_PROBLEMS`]. Those that were outside of the pool before do not prevent a change.
pub fn taken_out(
    old: &InClusterIPPoolSpec,
    new: &InClusterIPPoolSpec,
    allocated: impl IntoIterator<Item = IpAddr>,
) -> Vec<Problem> {
    let (Ok(before), Ok(after)) = (allocatable(old), allocatable(new)) else { return Vec::new() };
    let is_taken_out = |address: &IpAddr| before.contains(*address) && !after.contains(*address);
    let problem = |address: IpAddr| Problem {
        field: "spec".to_owned(),
        value: json!(address.to_string()),
        detail: "an IPAddress has this address: keep it in the pool until its claim is deleted".to_owned(),
    };
    allocated.into_iter().filter(is_taken_out).take(MAX_PROBLEMS).map(problem).collect()
}

/// An entry of a list: its index, and its first and last address.
type Entry = (usize, (IpAddr, IpAddr));

/// The problems that were found so far.
#[derive(Default)]
struct Reading {
    problems: Vec<Problem>,
}

impl Reading {
    fn problem(&mut self, field: &str, value: Value, detail: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { field: field.to_owned(), value, detail: detail.into() });
        }
    }

    fn ranges(&mut self, field: &str, texts: &[String]) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            match parse_range(text) {
                Ok(range) => entries.push((index, range)),
                Err(detail) => self.problem(&format!("{field}[{index}]"), json!(text), detail),
            }
        }
        entries
    }

    fn gateway(&mut self, spec: &InClusterIPPoolSpec) -> Option<IpAddr> {
        let text = spec.gateway.as_deref().filter(|text| !text.is_empty())?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.problem("spec.gateway", json!(text), "must be an IP address");
        }
        parsed
    }

    /// Checks that all addresses are of one family.
    fn families(
        &mut self,
        spec: &InClusterIPPoolSpec,
        addresses: &[Entry],
        excluded: &[Entry],
        gateway: Option<IpAddr>,
    ) {
        let Some((_, (first, _))) = addresses.first() else { return };
        let (is_ipv4, family) = (first.is_ipv4(), if first.is_ipv4() { "IPv4" } else { "IPv6" });
        let detail =
            format!("must be of {family}, like the first of spec.addresses: a pool has one IP family");
        let is_other = |entry: &&Entry| entry.1.0.is_ipv4() != is_ipv4;
        for (field, texts, entries) in [
            ("spec.addresses", &spec.addresses, addresses),
            ("spec.excludedAddresses", &spec.excluded_addresses, excluded),
        ] {
            for (index, _) in entries.iter().filter(is_other) {
                self.problem(&format!("{field}[{index}]"), json!(texts.get(*index)), detail.as_str());
            }
        }
        if gateway.is_some_and(|gateway| gateway.is_ipv4() != is_ipv4) {
            self.problem("spec.gateway", json!(spec.gateway), detail);
        }
    }
}
