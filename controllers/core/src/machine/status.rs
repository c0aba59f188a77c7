//! The conditions of a Machine.

use std::time::Duration;

use engine::conditions::{
    self, FALSE, Fallback, Priority, Reasons, Summary, TRUE, UNKNOWN, is_false, is_true, is_unknown, word,
};
use engine::object::is_deleting;
use engine::{Action, time};
use k8s_openapi::api::core::v1::Node;
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::Condition;

use super::deletion::Step;
use super::facts::{was_bootstrapped, was_provisioned};
use super::observed::{NodeState, Observed};
use super::plan::Plan;
use crate::change::Reference;
use crate::machine_deployment::template;

/// The connection may be down this long before the conditions of a Machine's Node become unknown.
const CONNECTION_GRACE: Duration = Duration::from_secs(300);
/// The message of a deletion that takes longer than this many minutes says so.
const SLOW_DELETION_MINUTES: i64 = 15;
const COMPONENTS: [&str; 4] =
    ["APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy"];

/// Sets all conditions of the planned Machine.
pub fn set(plan: &mut Plan, observed: &Observed, step: &Step) {
    let now = observed.now;
    let mut all =
        vec![bootstrap_config_ready(&plan.machine, observed), infrastructure_ready(&plan.machine, observed)];
    all.extend(node(plan, observed));
    all.push(is_false("Updating", "NotUpdating", ""));
    all.push(deleting(step));
    all.extend(up_to_date(observed));
    for condition in all {
        conditions::set(&mut plan.machine, now, condition);
    }
    let ready = ready(&plan.machine, observed);
    conditions::set(&mut plan.machine, now, ready);
    available(plan, observed);
}

struct Provider<'a> {
    target: &'static str,
    kind: &'a str,
    reference: &'a Reference,
    path: &'static str,
    /// Whether the bootstrap data was created, or the infrastructure provisioned, at any time.
    reached: bool,
    is_deleting: bool,
}

impl Provider<'_> {
    fn condition(&self) -> Condition {
        let kind = self.kind;
        match self.reference {
            Reference::None | Reference::Failed(_) => {
                is_unknown(self.target, "InternalError", engine::messages::INTERNAL_ERROR)
            }
            Reference::NotFound if self.reached && self.is_deleting => {
                is_false(self.target, "ObjectDeleted", format!("{kind} has been deleted"))
            }
            Reference::NotFound if self.reached => {
                let message = format!("{kind} has been deleted while the Machine still exists");
                is_false(self.target, "ObjectDeleted", message)
            }
            Reference::NotFound => {
                is_false(self.target, "ObjectDoesNotExist", format!("{kind} does not exist"))
            }
            Reference::Found(object) => match conditions::read(&object.object.data, "Ready") {
                Err(error) => is_unknown(self.target, "InvalidConditionReported", error),
                Ok(source) => self.mirror(source.as_ref()),
            },
        }
    }

    fn mirror(&self, source: Option<&Condition>) -> Condition {
        let (kind, path, reached) = (self.kind, self.path, self.reached);
        let fallback = Fallback {
            status: word(reached),
            reason: if reached { "Ready" } else { "NotReady" },
            message: if reached { String::new() } else { format!("{kind} {path} is {reached}") },
        };
        let mut condition = conditions::mirror(self.target, "Ready", source, Some(fallback));
        if condition.status == TRUE && condition.reason == "NoReasonReported" {
            condition.reason = "Ready".to_owned();
        }
        condition
    }
}

fn bootstrap_config_ready(machine: &Machine, observed: &Observed) -> Condition {
    const TYPE: &str = "BootstrapConfigReady";
    let Some(reference) = &machine.spec.bootstrap.config_ref else {
        return is_true(TYPE, "DataSecretProvided");
    };
    Provider {
        target: TYPE,
        kind: &reference.kind,
        reference: &observed.bootstrap,
        path: "status.initialization.dataSecretCreated",
        reached: was_bootstrapped(machine),
        is_deleting: is_deleting(machine),
    }
    .condition()
}

fn infrastructure_ready(machine: &Machine, observed: &Observed) -> Condition {
    Provider {
        target: "InfrastructureReady",
        kind: &machine.spec.infrastructure_ref.kind,
        reference: &observed.infrastructure,
        path: "status.initialization.provisioned",
        reached: was_provisioned(machine),
        is_deleting: is_deleting(machine),
    }
    .condition()
}

fn both(status: &str, reason: &str, message: &str) -> Vec<Condition> {
    ["NodeReady", "NodeHealthy"].iter().map(|type_| conditions::new(type_, status, reason, message)).collect()
}

/// Returns the conditions `NodeReady` and `NodeHealthy`.
fn node(plan: &mut Plan, observed: &Observed) -> Vec<Condition> {
    let inspection = |message: &str| both(UNKNOWN, "InspectionFailed", message);
    let cluster = observed.cluster.as_ref();
    let initialization = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    if initialization.and_then(|initialization| initialization.infrastructure_provisioned) != Some(true) {
        return inspection("Waiting for Cluster status.initialization.infrastructureProvisioned to be true");
    }
    if !cluster.condition_is_true("ControlPlaneInitialized") {
        return inspection("Waiting for Cluster control plane to be initialized");
    }
    if let Some(conditions) = connection_down(plan, observed) {
        return conditions;
    }
    if let NodeState::Ambiguous(_) = observed.node {
        return both(UNKNOWN, "InternalError", engine::messages::INTERNAL_ERROR);
    }
    if let Some(node) = observed.node.found() {
        return vec![node_ready(node), node_healthy(node)];
    }
    let machine = &plan.machine;
    let node_ref = machine.status.as_ref().and_then(|status| status.node_ref.as_ref());
    match (node_ref, &machine.spec.provider_id) {
        (Some(node), _) if is_deleting(machine) => {
            both(FALSE, "NodeDeleted", &format!("Node {} has been deleted", node.name))
        }
        (Some(node), _) => {
            let message = format!("Node {} has been deleted while the Machine still exists", node.name);
            both(FALSE, "NodeDeleted", &message)
        }
        (None, _) if is_deleting(machine) => both(UNKNOWN, "NodeDoesNotExist", "Node does not exist"),
        (None, Some(id)) => inspection(&format!("Waiting for a Node with spec.providerID {id} to exist")),
        (None, None) => {
            let kind = &machine.spec.infrastructure_ref.kind;
            inspection(&format!("Waiting for {kind} to report spec.providerID"))
        }
    }
}

/// Returns the conditions while the workload cluster is unreachable; `None` if the Node's state is known.
fn connection_down(plan: &mut Plan, observed: &Observed) -> Option<Vec<Condition>> {
    let down = |message: String| Some(both(UNKNOWN, "ConnectionDown", &message));
    let Some(at) = observed.health.last_success else {
        return if matches!(observed.node, NodeState::NotConnected) {
            down("Remote connection not established yet".to_owned())
        } else {
            None
        };
    };
    let age = (observed.now - at).to_std().unwrap_or_default();
    if age > CONNECTION_GRACE {
        return down(format!("Last successful probe at {}", rfc3339(at)));
    }
    if !matches!(observed.node, NodeState::NotConnected) {
        return None;
    }
    // The last known conditions stay until the grace period ends, which no event reports.
    let left = CONNECTION_GRACE.saturating_sub(age) + Duration::from_millis(1);
    plan.action = plan.action.min(Action::requeue_after(left));
    let known =
        ["NodeReady", "NodeHealthy"].iter().filter_map(|type_| plan.machine.condition(type_).cloned());
    let known: Vec<Condition> = known.collect();
    if known.is_empty() { down(format!("Last successful probe at {}", rfc3339(at))) } else { Some(known) }
}

fn node_conditions(node: &Node) -> &[k8s_openapi::api::core::v1::NodeCondition] {
    node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}

fn node_ready(node: &Node) -> Condition {
    let ready = node_conditions(node).iter().find(|condition| condition.type_ == "Ready");
    let message = ready.and_then(|ready| ready.message.clone()).filter(|message| !message.is_empty());
    let message = message.map(|message| format!("* Node.Ready: {message}")).unwrap_or_default();
    let mut condition = match ready.map(|ready| ready.status.as_str()) {
        Some(TRUE) => is_true("NodeReady", "NodeReady"),
        Some(FALSE) => is_false("NodeReady", "NodeNotReady", message),
        Some(_) => is_unknown("NodeReady", "NodeReadyUnknown", message),
        None => is_unknown("NodeReady", "NodeReadyUnknown", "* Node.Ready: Condition not yet reported"),
    };
    if let Some(at) = ready.and_then(|ready| ready.last_transition_time.as_ref()) {
        condition.last_transition_time = rfc3339(time::utc(at));
    }
    condition
}

/// Returns `NodeHealthy`: true if the Node is ready and under no pressure.
fn node_healthy(node: &Node) -> Condition {
    let (mut bad, mut unknown, mut lines) = (false, false, Vec::new());
    for (type_, good) in
        [("Ready", TRUE), ("MemoryPressure", FALSE), ("DiskPressure", FALSE), ("PIDPressure", FALSE)]
    {
        let found = node_conditions(node).iter().find(|condition| condition.type_ == type_);
        let message = match found {
            None => "Condition not yet reported",
            Some(condition) if condition.status == good => continue,
            Some(condition) => condition.message.as_deref().unwrap_or_default(),
        };
        match found.map(|condition| condition.status.as_str()) {
            Some(TRUE | FALSE) => bad = true,
            _ => unknown = true,
        }
        lines.push(format!("* Node.{type_}: {message}"));
    }
    let message = lines.join("\n");
    match (bad, unknown) {
        (true, _) => is_false("NodeHealthy", "NodeNotHealthy", message),
        (false, true) => is_unknown("NodeHealthy", "NodeHealthyUnknown", message),
        (false, false) => is_true("NodeHealthy", "NodeHealthy"),
    }
}

fn deleting(step: &Step) -> Condition {
    match step {
        Step::NotDeleting => is_false("Deleting", "NotDeleting", ""),
        Step::Waiting(reason, message) => conditions::new("Deleting", TRUE, reason, message.clone()),
        Step::Completed => conditions::new("Deleting", TRUE, "DeletionCompleted", "Deletion completed"),
    }
}

/// Returns `UpToDate`, only for Machines of a MachineDeployment; a control plane sets it on its own Machines.
fn up_to_date(observed: &Observed) -> Option<Condition> {
    const TYPE: &str = "UpToDate";
    let (set, deployment) = (observed.set.as_ref()?, observed.deployment.as_ref()?);
    let mut reasons = template::differences(&set.spec.template, &deployment.spec.template);
    let after = deployment.spec.rollout.as_ref().and_then(|rollout| parse_rfc3339(rollout.after.as_deref()?));
    if let (Some(after), Some(created)) = (after, set.metadata.creation_timestamp.as_ref().map(time::utc))
        && after <= observed.now
        && created < after
    {
        reasons.push("MachineDeployment spec.rolloutAfter expired".to_owned());
    }
    if !reasons.is_empty() {
        let lines: Vec<String> = reasons.iter().map(|reason| format!("* {reason}")).collect();
        return Some(is_false(TYPE, "NotUpToDate", lines.join("\n")));
    }
    let running = observed.node.found().and_then(|node| node.status.as_ref()?.node_info.as_ref());
    let running = running.map(|info| info.kubelet_version.as_str()).filter(|version| !version.is_empty());
    match (running, observed.machine.spec.version.as_deref()) {
        (Some(running), Some(wanted)) if running != wanted => {
            let message = format!("* Version {running}, {wanted} required");
            Some(is_false(TYPE, "Updating", message))
        }
        _ => Some(is_true(TYPE, "UpToDate")),
    }
}

fn ready(machine: &Machine, observed: &Observed) -> Condition {
    let gates = &machine.spec.readiness_gates;
    let mut types = vec![
        "Deleting",
        "Updating",
        "BootstrapConfigReady",
        "InfrastructureReady",
        "NodeHealthy",
        "HealthCheckSucceeded",
    ];
    types.extend(gates.iter().map(|gate| gate.condition_type.as_str()));
    let mut negative = vec!["Deleting", "Updating"];
    let negative_gates = gates.iter().filter(|gate| gate.polarity.as_deref() == Some("Negative"));
    negative.extend(negative_gates.map(|gate| gate.condition_type.as_str()));
    let reasons = Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" };
    let summary = Summary { types, negative, ignore_if_missing: vec!["HealthCheckSucceeded"], reasons };
    let mut sources = machine.conditions().to_vec();
    for source in &mut sources {
        if source.type_ == "Deleting" && source.status == TRUE {
            source.message = deletion_message(machine, &source.reason, observed);
        }
    }
    let is_deleting = is_deleting(machine);
    let mut condition = conditions::summarize("Ready", &sources, &summary, |condition| {
        let expected = ["ObjectDeleted", "ObjectDoesNotExist", "NodeDeleted", "NodeDoesNotExist"];
        let own = ["BootstrapConfigReady", "InfrastructureReady", "NodeHealthy"];
        let is_expected =
            own.contains(&condition.type_.as_str()) && expected.contains(&condition.reason.as_str());
        (is_deleting && is_expected).then_some(Priority::Info)
    });
    condition.message = fold_components(&condition.message);
    condition
}

fn deletion_message(machine: &Machine, stage: &str, observed: &Observed) -> String {
    let since = machine.metadata.deletion_timestamp.as_ref().map(time::utc).unwrap_or(observed.now);
    if observed.now - since > chrono::Duration::minutes(SLOW_DELETION_MINUTES) {
        return format!(
            "Machine deletion in progress since more than {SLOW_DELETION_MINUTES}m, stage: {stage}"
        );
    }
    format!("Machine deletion in progress, stage: {stage}")
}

/// Folds the lines of all control plane components into one line if they have the same text.
fn fold_components(message: &str) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for line in message.split('\n') {
        match blocks.last_mut() {
            Some(block) if !line.starts_with("* ") => {
                block.push('\n');
                block.push_str(line);
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    let text = |block: &str| {
        COMPONENTS.iter().find_map(|type_| block.strip_prefix(&format!("* {type_}:")).map(str::to_owned))
    };
    let texts: Vec<String> = blocks.iter().filter_map(|block| text(block)).collect();
    let Some(first) =
        texts.first().filter(|first| texts.len() > 1 && texts.iter().all(|text| text == *first))
    else {
        return message.to_owned();
    };
    let mut folded = Vec::new();
    for block in &blocks {
        if text(block).is_none() {
            folded.push(block.clone());
        } else if !folded.iter().any(|line: &String| line.starts_with("* Control plane components:")) {
            folded.push(format!("* Control plane components:{first}"));
        }
    }
    folded.join("\n")
}

/// Sets `Available`: true after the Machine was ready for `minReadySeconds`; requests a reconcile for the end
/// of that time.
fn available(plan: &mut Plan, observed: &Observed) {
    let ready = plan.machine.condition("Ready").cloned().unwrap_or_default();
    let wait = chrono::Duration::seconds(i64::from(plan.machine.spec.min_ready_seconds.unwrap_or(0)));
    let since = parse_rfc3339(&ready.last_transition_time).unwrap_or(observed.now);
    let condition = if ready.status != TRUE {
        is_false("Available", "NotReady", "")
    } else if observed.now - since >= wait {
        is_true("Available", "Available")
    } else {
        let left = (wait - (observed.now - since)).to_std().unwrap_or_default();
        plan.action = plan.action.min(Action::requeue_after(left));
        is_false("Available", "WaitingForMinReadySeconds", "")
    };
    conditions::set(&mut plan.machine, observed.now, condition);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_say_the_same_are_one_line() {
        let message = "* NodeHealthy: x\n* APIServerPodHealthy: gone\n* ControllerManagerPodHealthy: gone\n\
                       * EtcdPodHealthy: gone\n* EtcdMemberHealthy: gone";
        let folded = "* NodeHealthy: x\n* Control plane components: gone\n* EtcdMemberHealthy: gone";
        assert_eq!(fold_components(message), folded);
        let different = "* APIServerPodHealthy: a\n* EtcdPodHealthy: b";
        assert_eq!(fold_components(different), different);
    }
}
