//! The failure domains of the machines of a pool. Pure.

use std::collections::BTreeMap;

/// Returns the failure domain of the machine `name`. The domains of the pool's other machines are in `known`, by their names; `None` for
/// those that have none yet, which get theirs one after the other. So everybody who asks at one time finds the same spread.
pub fn choose(domains: &[String], known: &BTreeMap<String, Option<String>>, name: &str) -> Option<String> {
    let mut used: BTreeMap<&str, usize> = domains.iter().map(|domain| (domain.as_str(), 0)).collect();
    for domain in known.iter().filter(|(other, _)| *other != name).filter_map(|(_, domain)| domain.as_deref())
    {
        used.entry(domain).and_modify(|count| *count += 1);
    }
    let mut open: Vec<&str> =
        known.iter().filter(|(_, domain)| domain.is_none()).map(|(other, _)| other.as_str()).collect();
    if !open.contains(&name) {
        open.push(name);
        open.sort_unstable();
    }
    for other in open {
        let least = domains.iter().min_by_key(|domain| used.get(domain.as_str()))?;
        if other == name {
            return Some(least.clone());
        }
        used.entry(least.as_str()).and_modify(|count| *count += 1);
    }
    None
}
