//! Objects that own each other in a ring. In foreground deletion each of them would wait for the next one for ever.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Action, Graph, Step, step};
use crate::versions::definitions::Definitions;

/// For each object in foreground deletion: those for which it waits, or those that wait for it.
type Edges<'a> = BTreeMap<&'a String, Vec<&'a String>>;

impl Graph {
    /// Returns the steps that end the waiting of objects in foreground deletion that own each other. An object is looked at once after each
    /// change with which a ring can close, so the work is linear in the number of objects.
    pub(crate) fn open_rings(&mut self, definitions: &Definitions) -> Vec<Step> {
        let ends = std::mem::take(&mut self.ring_ends);
        let waits_for = self.waiting(&ends, definitions);
        let awaited_by = inverted(&waits_for);
        let (ahead, behind) =
            (reaching_rings(&waits_for, &awaited_by), reaching_rings(&awaited_by, &waits_for));
        // What is left is in a ring, or lies between two rings.
        let mut steps = Vec::new();
        for (uid, waiting) in
            awaited_by.iter().filter(|(uid, _)| ahead.contains(*uid) && behind.contains(*uid))
        {
            let in_ring = waiting.iter().filter(|owner| ahead.contains(*owner) && behind.contains(*owner));
            let uids: BTreeSet<String> = in_ring.map(|owner| (*owner).clone()).collect();
            if let Some(node) = self.nodes.get(*uid).filter(|_| !uids.is_empty()) {
                steps.push(step(uid, node, Action::Unblock { uids }));
            }
        }
        steps
    }

    /// Returns the objects in foreground deletion that can be reached from `ends`, each with those for which it waits.
    fn waiting<'a>(&'a self, ends: &'a BTreeSet<String>, definitions: &'a Definitions) -> Edges<'a> {
        let waits = |uid: &str| {
            self.nodes.get(uid).is_some_and(|node| node.deleting && node.foreground && !node.orphan)
        };
        let mut waiting = Edges::new();
        let mut open: Vec<&String> = ends.iter().filter(|uid| waits(uid)).collect();
        while let Some(uid) = open.pop() {
            if !waiting.contains_key(uid) {
                let blockers: Vec<&String> =
                    self.blockers(uid, definitions).filter(|uid| waits(uid)).collect();
                open.extend(&blockers);
                waiting.insert(uid, blockers);
            }
        }
        waiting
    }
}

fn inverted<'a>(edges: &Edges<'a>) -> Edges<'a> {
    let mut inverted: Edges<'a> = edges.keys().map(|uid| (*uid, Vec::new())).collect();
    for (from, to) in edges {
        for uid in to {
            inverted.entry(uid).or_default().push(from);
        }
    }
    inverted
}

/// Returns the objects from which the edges lead into a ring: those that remain when all are removed whose edges lead to nothing.
fn reaching_rings<'a>(edges: &Edges<'a>, inverted: &Edges<'a>) -> BTreeSet<&'a String> {
    let mut left: BTreeMap<&String, usize> = edges.iter().map(|(uid, to)| (*uid, to.len())).collect();
    let mut free: Vec<&String> = left.iter().filter(|(_, count)| **count == 0).map(|(uid, _)| *uid).collect();
    while let Some(uid) = free.pop() {
        left.remove(uid);
        for from in inverted.get(uid).into_iter().flatten() {
            if let Some(count) = left.get_mut(*from) {
                *count -= 1;
                if *count == 0 {
                    free.push(from);
                }
            }
        }
    }
    left.into_keys().collect()
}
