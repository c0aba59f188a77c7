//! The rules of the KubeadmConfig controller. Pure functions.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions::{self, Reasons, Summary};
use engine::object;
use k8s_openapi::api::core::v1::Secret;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine};
use schemas::meta::Condition;

use super::render::{self, Role};
use super::token;
use crate::names::condition;

/// The state of the init lock, whose holder may initialise the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// No Machine holds the lock.
    Free,
    /// The reconciled Machine holds it.
    Ours,
    /// Another Machine holds it.
    Taken,
    /// A Machine that does not exist holds it.
    Abandoned,
}

/// The state of the cluster's authorities and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateState {
    /// All of them exist.
    Complete,
    /// Some are missing.
    Incomplete,
}

/// The state of the world that a KubeadmConfig's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled KubeadmConfig.
    pub config: Arc<KubeadmConfig>,
    /// The Machine that owns it.
    pub machine: Option<Arc<Machine>>,
    /// The Machine's Cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// The Secret with the bootstrap data.
    pub data_secret: Option<Arc<Secret>>,
    /// State of the init lock.
    pub lock: Lock,
    /// State of the authorities and keys.
    pub certificates: CertificateState,
    /// Whether the workload cluster is connected.
    pub connected: bool,
    /// When the bootstrap token expires, as far as is known.
    pub token_expires: Option<DateTime<Utc>>,
}

/// The next step for a KubeadmConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing to do until the next event.
    Wait,
    /// The Machine already has bootstrap data: take over the Secret's name.
    Adopt(String),
    /// Extend the bootstrap token, and check it again later.
    KeepToken,
    /// Check again when the bootstrap token may have to be extended.
    WatchToken,
    /// Create the bootstrap data.
    Bootstrap {
        /// The role of the host.
        role: Role,
        /// Whether to delete an abandoned init lock first.
        break_lock: bool,
        /// Whether to create the missing authorities first.
        make_certificates: bool,
        /// Whether to create a bootstrap token first.
        make_token: bool,
    },
}

/// A plan: the next step and the changes that go with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The next step.
    pub step: Step,
    /// Conditions to set before the step.
    pub conditions: Vec<Condition>,
    /// Whether to delete the init lock, which is not needed any more.
    pub release_lock: bool,
    /// Whether to make the KubeadmConfig the owner of its Secret again.
    pub fix_secret_owner: bool,
}

impl Plan {
    fn of(step: Step) -> Self {
        Self { step, conditions: Vec::new(), release_lock: false, fix_secret_owner: false }
    }

    fn waiting(message: &str) -> Self {
        let not_available =
            conditions::is_false(condition::DATA_SECRET_AVAILABLE, "NotAvailable", message.to_owned());
        Self { conditions: vec![not_available], ..Self::of(Step::Wait) }
    }
}

/// Returns whether the cluster's infrastructure is provisioned.
pub fn infrastructure_provisioned(cluster: &Cluster) -> bool {
    let initialization = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.infrastructure_provisioned == Some(true))
}

/// Computes the plan. Pure function.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let (Some(machine), Some(cluster)) = (&observed.machine, &observed.cluster) else {
        return Plan::of(Step::Wait);
    };
    if object::is_deleting(observed.config.as_ref()) {
        return Plan::of(Step::Wait);
    }
    if !infrastructure_provisioned(cluster) {
        return Plan::waiting(
            "Waiting for Cluster status.initialization.infrastructureProvisioned to be true",
        );
    }
    let initialized = cluster.condition_is_true("ControlPlaneInitialized");
    let mut plan = provisioned(observed, machine, initialized, now);
    plan.release_lock = initialized && observed.lock != Lock::Free;
    let uid = object::uid(observed.config.as_ref());
    let created = observed.data_secret.as_ref();
    plan.fix_secret_owner =
        created.is_some_and(|secret| !engine::owners::is_controlled_by(secret.as_ref(), uid));
    plan
}

fn provisioned(observed: &Observed, machine: &Machine, initialized: bool, now: DateTime<Utc>) -> Plan {
    let status = observed.config.status.clone().unwrap_or_default();
    let created =
        status.initialization.is_some_and(|initialization| initialization.data_secret_created == Some(true));
    if created {
        return Plan::of(with_data(observed, machine, now));
    }
    if let Some(name) = machine.spec.bootstrap.data_secret_name.clone() {
        return Plan::of(Step::Adopt(name));
    }
    let is_control_plane = object::label(machine, engine::names::CONTROL_PLANE).is_some();
    if !initialized {
        return if is_control_plane { init(observed) } else { wait_for_control_plane() };
    }
    join(observed, if is_control_plane { Role::JoinControlPlane } else { Role::JoinWorker })
}

fn wait_for_control_plane() -> Plan {
    Plan::waiting("Waiting for Cluster control plane to be initialized")
}

/// Returns the next step once the bootstrap data exists: only an unused bootstrap token needs attention.
fn with_data(observed: &Observed, machine: &Machine, now: DateTime<Utc>) -> Step {
    let used = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    let spec = &observed.config.spec;
    let is_join = spec.join_configuration.is_some() && render::uses_token(spec);
    let ours = is_join && render::token(spec).and_then(token::secret_name).is_some();
    if used || !ours || object::is_deleting(machine) {
        return Step::Wait;
    }
    match observed.token_expires {
        Some(expires) if expires - now > token::LIFETIME * 5 / 6 => Step::WatchToken,
        _ if observed.connected => Step::KeepToken,
        _ => Step::WatchToken,
    }
}

fn init(observed: &Observed) -> Plan {
    let make_certificates = match certificates(observed) {
        Ok(make) => make,
        Err(plan) => return plan,
    };
    match observed.lock {
        // Another Machine is initialising the cluster; its deletion or the lock's is an event.
        Lock::Taken => wait_for_control_plane(),
        lock => Plan::of(Step::Bootstrap {
            role: Role::Init,
            break_lock: lock == Lock::Abandoned,
            make_certificates,
            make_token: false,
        }),
    }
}

/// Returns whether to create the authorities here, which is the case only without a control plane provider.
fn certificates(observed: &Observed) -> Result<bool, Plan> {
    if observed.certificates == CertificateState::Complete {
        return Ok(false);
    }
    let provided = observed.cluster.as_ref().is_some_and(|cluster| cluster.spec.control_plane_ref.is_some());
    if !provided {
        return Ok(true);
    }
    let mut plan = Plan::waiting("Waiting for the certificates of the Cluster to be created");
    let text = "Waiting for the control plane provider to create them";
    plan.conditions.push(conditions::is_unknown(condition::CERTIFICATES_AVAILABLE, "InternalError", text));
    Err(plan)
}

fn join(observed: &Observed, role: Role) -> Plan {
    if observed.certificates != CertificateState::Complete {
        let mut plan = Plan::waiting("Waiting for the certificates of the Cluster");
        let text = "Certificates of the Cluster are missing";
        plan.conditions.push(conditions::is_unknown(
            condition::CERTIFICATES_AVAILABLE,
            "InternalError",
            text,
        ));
        return plan;
    }
    let spec = &observed.config.spec;
    let make_token = render::uses_token(spec) && render::token(spec).is_none();
    if make_token && !observed.connected {
        return Plan::waiting(
            "Waiting for the connection to the workload cluster, to create a bootstrap token",
        );
    }
    Plan::of(Step::Bootstrap { role, break_lock: false, make_certificates: false, make_token })
}

/// Returns the `Ready` condition, the summary of the others.
pub fn ready(list: &[Condition]) -> Condition {
    let summary = Summary {
        types: vec![condition::DATA_SECRET_AVAILABLE, condition::CERTIFICATES_AVAILABLE],
        negative: Vec::new(),
        ignore_if_missing: Vec::new(),
        reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    };
    conditions::summarize(condition::READY, list, &summary, |_| None)
}
