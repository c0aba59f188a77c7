//! The conditions of a Machine.

mod node;
mod ready;

use engine::conditions::{self, Fallback, TRUE, is_false, is_true, is_unknown, word};
use engine::object::is_deleting;
use engine::{Action, ExternalObject, time};
use machinery::clock::parse_rfc3339;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::Condition;

use super::changes::{Plan, Step};
use super::facts::{data_secret_name, is_infrastructure_provisioned, was_bootstrapped, was_provisioned};
use super::observed::Observed;
use super::provider_id::other_provider_id;
use super::update;
use crate::change::Reference;
use crate::contract::{self, Field};
use crate::machine_deployment::template;

/// How long until a Secret that is missing is looked for again.
const SECRET_RETRY: std::time::Duration = std::time::Duration::from_secs(20);

/// Sets all conditions of the planned Machine.
pub fn set(plan: &mut Plan, observed: &Observed, step: &Step) {
    let now = observed.now;
    if observed.data_secret_problem.is_some() {
        // Secrets are not watched: nearly all of them are there before a Machine names them.
        plan.action = plan.action.min(Action::requeue_after(SECRET_RETRY));
    }
    let mut all =
        vec![bootstrap_config_ready(&plan.machine, observed), infrastructure_ready(&plan.machine, observed)];
    all.extend(node::conditions(plan, observed));
    let updating = update::condition(&plan.machine, observed);
    all.push(deleting(step));
    all.extend(up_to_date(observed, &updating));
    all.push(updating);
    for condition in all {
        conditions::set(&mut plan.machine, now, condition);
    }
    let ready = ready::condition(&plan.machine, observed);
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
    /// The field without which the object cannot be used, although it says that it is complete.
    missing: Option<&'static str>,
    /// The fields of the contract.
    fields: &'static [Field],
    /// What is wrong although each field is right.
    conflict: Option<String>,
}

impl Provider<'_> {
    fn condition(&self) -> Condition {
        let kind = self.kind;
        match self.reference {
            Reference::None => is_unknown(self.target, "InternalError", engine::messages::INTERNAL_ERROR),
            Reference::Failed(error) => is_unknown(self.target, "InternalError", error),
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
                Ok(source) => {
                    let mut condition = self.mirror(source.as_ref());
                    contract::add_lines(&mut condition.message, &contract::problems(object, self.fields));
                    contract::add_lines(&mut condition.message, self.conflict.as_slice());
                    condition
                }
            },
        }
    }

    fn mirror(&self, source: Option<&Condition>) -> Condition {
        let (kind, path, reached) = (self.kind, self.path, self.reached);
        let fallback = Fallback {
            status: word(reached),
            reason: if reached { "Ready" } else { "NotReady" },
            message: match self.missing {
                _ if reached => String::new(),
                Some(missing) => format!("{kind} is provisioned, but does not report {missing}"),
                None => format!("{kind} {path} is {reached}"),
            },
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
    let problem = observed.data_secret_problem.as_slice();
    let Some(reference) = &machine.spec.bootstrap.config_ref else {
        let mut condition = is_true(TYPE, "DataSecretProvided");
        contract::add_lines(&mut condition.message, problem);
        return condition;
    };
    let mut condition = Provider {
        target: TYPE,
        kind: &reference.kind,
        reference: &observed.bootstrap,
        path: "status.initialization.dataSecretCreated",
        reached: was_bootstrapped(machine),
        is_deleting: is_deleting(machine),
        missing: None,
        fields: contract::BOOTSTRAP,
        conflict: observed.bootstrap.found().and_then(|object| unnamed_secret(machine, object)),
    }
    .condition();
    contract::add_lines(&mut condition.message, problem);
    condition
}

/// Says that the bootstrap object reports its Secret as created and does not name it.
fn unnamed_secret(machine: &Machine, object: &ExternalObject) -> Option<String> {
    let is_named = machine.spec.bootstrap.data_secret_name.is_some();
    let error = data_secret_name(object).err().filter(|_| !is_named)?;
    Some(format!("* {error}"))
}

fn infrastructure_ready(machine: &Machine, observed: &Observed) -> Condition {
    let lacks_id = |object: &ExternalObject| {
        is_infrastructure_provisioned(object) && contract::PROVIDER_ID.read_text(object).is_none()
    };
    Provider {
        target: "InfrastructureReady",
        kind: &machine.spec.infrastructure_ref.kind,
        reference: &observed.infrastructure,
        path: "status.initialization.provisioned",
        reached: was_provisioned(machine),
        is_deleting: is_deleting(machine),
        missing: observed.infrastructure.found().is_some_and(lacks_id).then_some("spec.providerID"),
        fields: contract::MACHINE,
        conflict: observed.infrastructure.found().and_then(|object| other_provider_id(observed, object)),
    }
    .condition()
}

fn deleting(step: &Step) -> Condition {
    match step {
        Step::NotDeleting => is_false("Deleting", "NotDeleting", ""),
        Step::Waiting(reason, message) => conditions::new("Deleting", TRUE, reason, message.clone()),
        Step::Completed => conditions::new("Deleting", TRUE, "DeletionCompleted", "Deletion completed"),
    }
}

/// Returns `UpToDate`, only for Machines of a MachineDeployment; a control plane sets it on its own Machines.
fn up_to_date(observed: &Observed, updating: &Condition) -> Option<Condition> {
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
    if updating.status == TRUE {
        return Some(is_false(TYPE, "Updating", format!("* {}", updating.message)));
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

/// Sets `Available`: true after the Machine was ready for `minReadySeconds`; requests a reconcile for the end
/// of that time.
fn available(plan: &mut Plan, observed: &Observed) {
    let ready = plan.machine.condition("Ready").cloned().unwrap_or_default();
    let wait = chrono::Duration::seconds(i64::from(plan.machine.spec.min_ready_seconds.unwrap_or(0)));
    let since = parse_rfc3339(&ready.last_transition_time).unwrap_or(observed.now);
    let condition = if ready.status != TRUE {
        is_false("Available", "NotReady", "")
    } else if wait.is_zero() || observed.now - since >= wait {
        is_true("Available", "Available")
    } else {
        let left = (wait - (observed.now - since)).to_std().unwrap_or_default();
        plan.action = plan.action.min(Action::requeue_after(left));
        is_false("Available", "WaitingForMinReadySeconds", "")
    };
    conditions::set(&mut plan.machine, observed.now, condition);
}
