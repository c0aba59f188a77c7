//! The failure domains of the machines of a pool. Pure.

use std::collections::BTreeMap;

/// Returns the failure domain of the machine `name`. The domains of the pool's other machines are in `known`, by their names; `None` for
/// those that have none yet, which get theirs one after the other. So everybody who asks at one time finds the same spread.
pub(super) fn choose(
    domains: &[String],
    known: &BTreeMap<String, Option<String>>,
    name: &str,
) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(known: &[(&str, Option<&str>)], name: &str) -> Option<String> {
        let known = known.iter().map(|(name, domain)| ((*name).to_owned(), domain.map(str::to_owned)));
        choose(&["fd1".to_owned(), "fd2".to_owned()], &known.collect(), name)
    }

    #[test]
    fn machines_are_spread() {
        type Row<'a> = (&'a [(&'a str, Option<&'a str>)], &'a str, &'a str);
        let rows: [Row<'_>; 6] = [
            (&[], "a", "fd1"),
            (&[("a", None), ("b", None), ("c", None)], "a", "fd1"),
            (&[("a", None), ("b", None), ("c", None)], "b", "fd2"),
            (&[("a", None), ("b", None), ("c", None)], "c", "fd1"),
            (&[("a", Some("fd1")), ("b", None)], "b", "fd2"),
            (&[("b", Some("fd1")), ("c", Some("another"))], "a", "fd2"),
        ];
        for (known, name, expected) in rows {
            assert_eq!(chosen(known, name).as_deref(), Some(expected), "{known:?} {name}");
        }
    }

    #[test]
    fn a_pool_without_failure_domains_has_none() {
        assert_eq!(choose(&[], &BTreeMap::new(), "a"), None);
    }
}
