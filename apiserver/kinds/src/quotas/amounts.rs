//! Amounts by resource, as quotas and limit ranges add them up.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use machinery::quantity::{Quantity, Refusal};
use serde_json::Value;

/// Amounts by the name of their resource.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// Reads amounts. What is no quantity counts as absent, and what is larger than any amount of Go as that one.
pub(crate) fn read(list: &Value) -> Amounts {
    let entries = list.as_object().into_iter().flatten();
    let amount = |(name, amount): (&String, &Value)| {
        let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        let amount = match Quantity::parse(&text) {
            Ok(amount) => at_most(amount),
            Err(Refusal::Range) => largest(),
            Err(_) => return None,
        };
        Some((name.clone(), amount))
    };
    entries.filter_map(amount).collect()
}

fn largest() -> Quantity {
    Quantity::from_int(i64::MAX)
}

fn at_most(amount: Quantity) -> Quantity {
    if amount.compare(&largest()).is_gt() { largest() } else { amount }
}

/// Adds amounts to others.
pub(crate) fn add(sums: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = sums.get(name).map_or(Some(*amount), |sum| sum.add(amount));
        sums.insert(name.clone(), sum.map_or_else(largest, at_most));
    }
}

/// Raises amounts to others that are larger.
pub(crate) fn raise(amounts: &mut Amounts, others: &Amounts) {
    for (name, amount) in others {
        let is_less = |old: &Quantity| old.compare(amount) == Ordering::Less;
        if amounts.get(name).is_none_or(is_less) {
            amounts.insert(name.clone(), *amount);
        }
    }
}

/// Returns what the containers of a pod need at the same time: all containers and those init containers that go on running, or what one
/// init container needs beside those that began before it. `amounts` returns what a container needs, and whether it is an init container
/// is its second argument.
pub(crate) fn of_containers(spec: &Value, amounts: impl Fn(&Value, bool) -> Amounts) -> Amounts {
    let list = |field: &str| spec[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut sums = Amounts::new();
    for container in list("containers") {
        add(&mut sums, &amounts(container, false));
    }
    let (mut running, mut most) = (Amounts::new(), Amounts::new());
    for container in list("initContainers") {
        let mut needed = amounts(container, true);
        if container["restartPolicy"] == "Always" {
            add(&mut sums, &needed);
            add(&mut running, &needed);
            needed = running.clone();
        } else {
            add(&mut needed, &running);
        }
        raise(&mut most, &needed);
    }
    raise(&mut sums, &most);
    sums
}
