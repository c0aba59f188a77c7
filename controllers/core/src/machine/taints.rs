//! The taints that a Machine sets on its Node.

use std::collections::BTreeSet;

use engine::object::annotation;
use k8s_openapi::api::core::v1::{Node, Taint};
use schemas::cluster::MachineTaint;
use schemas::defaults;

use super::observed::Observed;
use crate::machine_deployment::REVISION;
use crate::nodes::UNINITIALIZED;

const OUTDATED_REVISION: &str = "node.cluster.x-k8s.io/outdated-revision";
const TAINTS_FROM_MACHINE: &str = "cluster.x-k8s.io/taints-from-machine";
const ALWAYS: &str = "Always";

/// Removes the uninitialized taint, sets the outdated taint while the MachineSet's revision is older than the
/// MachineDeployment's, and sets the taints of the Machine's spec.
pub fn sync(node: &mut Node, observed: &Observed) {
    if observed.propagates_taints {
        propagate(node, &observed.machine.spec.taints);
    }
    let spec = node.spec.get_or_insert_default();
    let taints = spec.taints.get_or_insert_default();
    taints.retain(|taint| taint.key != UNINITIALIZED);
    let outdated = is_outdated(observed);
    let has = taints.iter().any(|taint| taint.key == OUTDATED_REVISION);
    if outdated && !has {
        taints.push(Taint {
            key: OUTDATED_REVISION.to_owned(),
            effect: "PreferNoSchedule".to_owned(),
            ..Taint::default()
        });
    } else if !outdated {
        taints.retain(|taint| taint.key != OUTDATED_REVISION);
    }
    if taints.is_empty() {
        spec.taints = None;
    }
}

/// Sets the taints of the Machine's spec, removes those that came from it earlier, and records the ones that
/// the Node always has in an annotation. Until there is this annotation, the Node also gets the taints that
/// are for its initialization.
fn propagate(node: &mut Node, wanted: &[MachineTaint]) {
    let before = annotation(node, TAINTS_FROM_MACHINE).map(str::to_owned);
    let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
    let is_wanted = |id: &str| wanted.iter().any(|taint| id == id_of(&taint.key, &taint.effect));
    let earlier = before.as_deref().unwrap_or_default().split(',').filter(|id| !id.is_empty());
    let gone: BTreeSet<&str> = earlier.filter(|id| !is_wanted(id)).collect();
    taints.retain(|taint| !gone.contains(id_of(&taint.key, &taint.effect).as_str()));
    for taint in wanted.iter().filter(|taint| taint.propagation == ALWAYS || before.is_none()) {
        let is_same = |found: &&mut Taint| found.key == taint.key && found.effect == taint.effect;
        match taints.iter_mut().find(is_same) {
            Some(found) if found.value.as_deref().unwrap_or_default() == value(taint) => {}
            Some(found) => found.value.clone_from(&taint.value),
            None => taints.push(Taint {
                key: taint.key.clone(),
                effect: taint.effect.clone(),
                value: taint.value.clone(),
                ..Taint::default()
            }),
        }
    }
    let always = wanted.iter().filter(|taint| taint.propagation == ALWAYS);
    let always: BTreeSet<String> = always.map(|taint| id_of(&taint.key, &taint.effect)).collect();
    let always = always.into_iter().collect::<Vec<_>>().join(",");
    node.metadata.annotations.get_or_insert_default().insert(TAINTS_FROM_MACHINE.to_owned(), always);
}

fn value(taint: &MachineTaint) -> &str {
    taint.value.as_deref().unwrap_or_default()
}

/// Returns what identifies a taint of a Node.
fn id_of(key: &str, effect: &str) -> String {
    format!("{key}:{effect}")
}

/// Returns whether taints of Machines are kept on the Node: the Machine has some, or had some.
pub fn are_propagated(taints: &[MachineTaint], node: Option<&Node>) -> bool {
    !taints.is_empty() || node.is_some_and(|node| annotation(node, TAINTS_FROM_MACHINE).is_some())
}

fn is_outdated(observed: &Observed) -> bool {
    let (Some(set), Some(deployment)) = (&observed.set, &observed.deployment) else { return false };
    let rollout = deployment.spec.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
    if rollout.is_some_and(|strategy| strategy.type_ == defaults::ON_DELETE) {
        return false;
    }
    let revision = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    match (revision(annotation(set.as_ref(), REVISION)), revision(annotation(deployment.as_ref(), REVISION)))
    {
        (Some(set), Some(deployment)) => set < deployment,
        _ => false,
    }
}
