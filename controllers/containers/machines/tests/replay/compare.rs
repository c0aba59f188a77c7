//! Compares what was recorded with what happened here. Pure.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::recording::Fact;

/// The writes of an object's controller, each with the facts that it changed.
pub type Writes = BTreeMap<String, Vec<Vec<Fact>>>;

/// A difference, such as `there DevMachine m BootstrapCompleted=False/WaitingForContainer`: a change that came only there, or only here; an
/// order; or what is at rest.
pub type Difference = String;

/// The last steps of a machine and of a cluster: where the recording has one of these before another one, it is so here.
pub const MILESTONES: [&str; 11] = [
    "finalizer=set",
    "LoadBalancerAvailable=True/Available",
    "ContainerProvisioned=True/Provisioned",
    "address InternalIP=<address>",
    "CGroupsReady=True/Ready",
    "PreLoadedImagesReady=True/Ready",
    "provisioned=true",
    "BootstrapCompleted=True/Completed",
    "ready=true",
    "deletion=begun",
    "gone=",
];

/// Returns all differences between two lives, without messages.
pub fn lives(theirs: &Writes, ours: &Writes) -> Vec<Difference> {
    let none = Vec::new();
    let mut differences = Vec::new();
    let objects: std::collections::BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for object in objects {
        let (theirs, ours) = (theirs.get(object).unwrap_or(&none), ours.get(object).unwrap_or(&none));
        let (sequences, others) = (sequences(theirs), sequences(ours));
        let names: std::collections::BTreeSet<&String> = sequences.keys().chain(others.keys()).collect();
        for name in names {
            let empty = Vec::new();
            let (a, b) = (sequences.get(name).unwrap_or(&empty), others.get(name).unwrap_or(&empty));
            let common = common(a, b);
            let line = |value: &String| format!("{object} {name}={value}");
            let only = |values: &[String]| left_out(values, &common);
            differences.extend(only(a).iter().map(|value| format!("there {}", line(value))));
            differences.extend(only(b).iter().map(|value| format!("here {}", line(value))));
        }
        differences.extend(order(object, theirs, ours));
    }
    differences
}

/// Returns the values of each fact, one after the other.
fn sequences(writes: &[Vec<Fact>]) -> BTreeMap<String, Vec<String>> {
    let mut sequences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for fact in writes.iter().flatten() {
        let values = sequences.entry(fact.name.clone()).or_default();
        if values.last() != Some(&fact.value) {
            values.push(fact.value.clone());
        }
    }
    sequences
}

/// Returns the longest sequence that is in both, in this order.
fn common(a: &[String], b: &[String]) -> Vec<String> {
    let mut lengths = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for (i, left) in a.iter().enumerate().rev() {
        for (j, right) in b.iter().enumerate().rev() {
            lengths[i][j] = if left == right {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            found.push(a[i].clone());
            (i, j) = (i + 1, j + 1);
        } else if lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// Returns the values that are not in the sequence.
fn left_out(values: &[String], sequence: &[String]) -> Vec<String> {
    let mut rest = sequence.iter().peekable();
    let is_left = |value: &&String| rest.next_if_eq(value).is_none();
    values.iter().filter(is_left).cloned().collect()
}

/// Returns the milestones that come in another order here. What one write says, has no order.
fn order(object: &str, theirs: &[Vec<Fact>], ours: &[Vec<Fact>]) -> Vec<Difference> {
    let first = |writes: &[Vec<Fact>], milestone: &str| {
        writes.iter().position(|facts| facts.iter().any(|fact| fact.line() == milestone))
    };
    let mut differences = Vec::new();
    for one in MILESTONES {
        for other in MILESTONES {
            let there = (first(theirs, one), first(theirs, other));
            let here = (first(ours, one), first(ours, other));
            if let ((Some(a), Some(b)), (Some(c), Some(d))) = (there, here)
                && a < b
                && c > d
            {
                differences.push(format!("order {object} {one} before {other}"));
            }
        }
    }
    differences
}

/// Returns what differs at rest, with messages.
pub fn at_rest(theirs: &BTreeMap<String, Facts>, ours: &BTreeMap<String, Facts>) -> Vec<Difference> {
    let only =
        |these: &BTreeMap<String, Facts>, those: &BTreeMap<String, Facts>, where_: &str| -> Vec<Difference> {
            let all = these.iter().flat_map(|(object, facts)| facts.values().map(move |fact| (object, fact)));
            let other = all.filter(|(object, fact)| {
                those.get(*object).and_then(|facts| facts.get(&fact.name)) != Some(fact)
            });
            let line = |(object, fact): (&String, &Fact)| {
                let message =
                    if fact.message.is_empty() { String::new() } else { format!(": {}", fact.message) };
                format!("rest {where_} {object} {}={}{message}", fact.name, fact.value)
            };
            other.map(line).collect()
        };
    [only(theirs, ours, "there"), only(ours, theirs, "here")].concat()
}

/// Returns whether a pattern, in which `*` stands for any text, is the whole line.
pub fn is_like(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == line };
    let Some(line) = line.strip_prefix(start) else { return false };
    let mut ends = line.char_indices().map(|(index, _)| index).chain([line.len()]);
    ends.any(|end| is_like(rest, &line[end..]))
}

#[test]
fn what_differs() {
    let fact = |name: &str, value: &str| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
        message: String::new(),
    };
    let of = |writes: &[&[(&str, &str)]]| -> Writes {
        let writes = writes.iter().map(|facts| facts.iter().map(|(name, value)| fact(name, value)).collect());
        Writes::from([("M m".to_owned(), writes.collect())])
    };
    let theirs = of(&[
        &[("A", "1")],
        &[("A", "2"), ("B", "1")],
        &[("A", "3")],
        &[("CGroupsReady", "True/Ready")],
        &[("provisioned", "true")],
    ]);
    let ours = of(&[
        &[("A", "1")],
        &[("A", "3"), ("B", "1")],
        &[("A", "4")],
        &[("provisioned", "true")],
        &[("CGroupsReady", "True/Ready")],
    ]);
    let expected =
        ["there M m A=2", "here M m A=4", "order M m CGroupsReady=True/Ready before provisioned=true"];
    assert_eq!(lives(&theirs, &ours), expected);
    assert!(is_like("there * A=*", "there M m A=2") && !is_like("there * B", "there M m A=2"));
}
