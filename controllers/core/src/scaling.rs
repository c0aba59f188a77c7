//! The scaling conditions of MachineSets and MachineDeployments.

use engine::conditions::{self, TRUE, is_false, is_unknown};
use schemas::cluster::MachineSpec;
use schemas::meta::Condition;

use crate::change::Reference;

/// The inputs of the conditions `ScalingUp` and `ScalingDown`.
pub struct Scaling<'a> {
    /// `spec.replicas`.
    pub replicas: Option<i32>,
    /// Whether the object is being deleted: it then wants no Machine and needs no template.
    pub is_deleting: bool,
    /// The number of existing Machines.
    pub current: i32,
    /// The spec of a new Machine.
    pub spec: &'a MachineSpec,
    /// The object that `spec.bootstrap.configRef` names.
    pub bootstrap: &'a Reference,
    /// The object that `spec.infrastructureRef` names.
    pub infrastructure: &'a Reference,
    /// The reasons why no Machine may be created now.
    pub blocked: &'a [String],
}

impl Scaling<'_> {
    fn desired(&self) -> Option<i32> {
        self.replicas.map(|replicas| if self.is_deleting { 0 } else { replicas })
    }

    /// Lists the referenced templates that do not exist.
    fn missing(&self) -> Vec<String> {
        if self.is_deleting {
            return Vec::new();
        }
        let config = self.spec.bootstrap.config_ref.as_ref().map_or("", |reference| reference.kind.as_str());
        let rows =
            [(self.bootstrap, config), (self.infrastructure, self.spec.infrastructure_ref.kind.as_str())];
        let missing = rows.iter().filter(|(reference, _)| matches!(reference, Reference::NotFound));
        missing.map(|(_, kind)| format!("* {kind} does not exist")).collect()
    }

    /// Returns the condition `ScalingUp`.
    pub fn up(&self) -> Condition {
        const TYPE: &str = "ScalingUp";
        let Some(desired) = self.desired() else { return no_replicas(TYPE) };
        let (current, mut missing) = (self.current, self.missing());
        if current >= desired {
            let message = if missing.is_empty() {
                String::new()
            } else {
                format!("Scaling up would be blocked because:\n{}", missing.join("\n"))
            };
            return is_false(TYPE, "NotScalingUp", message);
        }
        let mut message = format!("Scaling up from {current} to {desired} replicas");
        missing.extend_from_slice(self.blocked);
        if !missing.is_empty() {
            message.push_str(&format!(" is blocked because:\n{}", missing.join("\n")));
        }
        conditions::new(TYPE, TRUE, TYPE, message)
    }

    /// Returns the condition `ScalingDown`.
    pub fn down(&self) -> Condition {
        const TYPE: &str = "ScalingDown";
        let current = self.current;
        match self.desired() {
            None => no_replicas(TYPE),
            Some(desired) if current > desired => {
                let message = format!("Scaling down from {current} to {desired} replicas");
                conditions::new(TYPE, TRUE, TYPE, message)
            }
            Some(_) => is_false(TYPE, "NotScalingDown", ""),
        }
    }
}

fn no_replicas(type_: &'static str) -> Condition {
    is_unknown(type_, "WaitingForReplicasSet", "Waiting for spec.replicas set")
}
