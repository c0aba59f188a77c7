//! The provider ID of a Machine, which its Node proves.

use engine::ExternalObject;

use super::facts::node_name;
use super::observed::{NodeState, Observed};
use crate::contract;

/// Says that the infrastructure object reports another provider ID than the Machine, whose Node has the Machine's. Such a Machine keeps its
/// ID: with another one, it would lose its Node, and be replaced.
pub(super) fn other_provider_id(observed: &Observed, object: &ExternalObject) -> Option<String> {
    let own = observed.machine.spec.provider_id.as_deref()?;
    let reported = contract::PROVIDER_ID.read_text(object).filter(|reported| *reported != own)?;
    let is_proved = match &observed.node {
        NodeState::Found(node) => {
            node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) == Some(own)
        }
        NodeState::NotConnected => node_name(&observed.machine).is_some(),
        NodeState::Absent | NodeState::Ambiguous(_) => false,
    };
    let problem =
        format!("spec.providerID is {reported}, but the Machine's Node has {own}, which cannot change");
    is_proved.then(|| contract::line(object, &problem))
}
