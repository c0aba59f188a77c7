//! The rules of the KubeadmConfig controller. Pure functions.

use chrono::{DateTime, Utc};
use engine::conditions::{self, Reasons, Summary};
use engine::{initialization, object, owners};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Cluster;
use schemas::meta::Condition;

use super::observed::{Lock, Observed, Token};
use super::owner::Owner;
use super::render::{self, Role};
use super::token;
use crate::certificates::{self, Purpose};
use crate::names::condition;
use crate::owned;
use schemas::version::Version;

/// How bootstrap data are created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    /// The role of the host.
    pub role: Role,
    /// The Kubernetes version of the host.
    pub version: Version,
    /// Whether to delete an abandoned init lock first.
    pub break_lock: bool,
    /// The authorities and keys to create first.
    pub make_certificates: Vec<Purpose>,
    /// Whether to create a bootstrap token first, which replaces that of the spec.
    pub make_token: bool,
}

/// The next step for a KubeadmConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing to do until the next event.
    Wait,
    /// The Machine already has bootstrap data: take over the Secret's name.
    Adopt(String),
    /// Extend the bootstrap token, or create it again, and check it later.
    KeepToken,
    /// Check again when the bootstrap token may have to be extended.
    WatchToken,
    /// Create the bootstrap data.
    Bootstrap(Bootstrap),
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

    fn waiting(message: impl Into<String>) -> Self {
        let not_available = conditions::is_false(condition::DATA_SECRET_AVAILABLE, "NotAvailable", message);
        Self { conditions: vec![not_available], ..Self::of(Step::Wait) }
    }

    /// Returns the plan that waits for authorities and keys, with the reason in `CertificatesAvailable`.
    fn without_certificates(message: &str, why: &str) -> Self {
        let mut plan = Self::waiting(message);
        plan.conditions.push(conditions::is_unknown(condition::CERTIFICATES_AVAILABLE, "InternalError", why));
        plan
    }
}

/// Computes the plan. Pure function.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let (Some(owner), Some(cluster)) = (&observed.owner, &observed.cluster) else {
        return Plan::of(Step::Wait);
    };
    if object::is_deleting(observed.config.as_ref()) {
        return Plan::of(Step::Wait);
    }
    if !initialization::has_infrastructure(cluster) {
        return Plan::waiting(
            "Waiting for Cluster status.initialization.infrastructureProvisioned to be true",
        );
    }
    let initialized = cluster.condition_is_true("ControlPlaneInitialized");
    let situation = Situation { observed, owner, cluster };
    let mut plan = situation.provisioned(initialized, now);
    if matches!(plan.step, Step::Bootstrap(_))
        && let Some(taken) = &observed.taken
    {
        // The present data, if there are some, stay valid as long as their token.
        let step = if has_data(&observed.config) { Step::WatchToken } else { Step::Wait };
        plan = Plan { step, ..Plan::waiting(is_taken(taken)) };
    }
    plan.release_lock = initialized && observed.lock != Lock::Free;
    let owner = data_owner(&observed.config);
    let created = observed.data_secret.as_ref();
    plan.fix_secret_owner = created.is_some_and(|secret| !owned::is_current(secret.as_ref(), &owner));
    plan
}

/// Returns the owner reference of the Secret with the bootstrap data, in Cluster API's form.
pub(super) fn data_owner(config: &KubeadmConfig) -> OwnerReference {
    OwnerReference { controller: Some(true), ..owners::reference(config, &()) }
}

/// Says what to do about a Secret of somebody else that has the name for the bootstrap data.
fn is_taken(secret: &Secret) -> String {
    format!(
        "Secret {} has the name for the bootstrap data, and is of type {}, which users' Secrets have: it is not \
         overwritten; rename it, or delete it",
        secret.metadata.name.as_deref().unwrap_or_default(),
        secret.type_.as_deref().unwrap_or("Opaque")
    )
}

fn wait_for_control_plane() -> Plan {
    Plan::waiting("Waiting for Cluster control plane to be initialized")
}

/// The observed state of a KubeadmConfig that has an owner and a Cluster.
struct Situation<'a> {
    observed: &'a Observed,
    owner: &'a Owner,
    cluster: &'a Cluster,
}

impl Situation<'_> {
    fn provisioned(&self, initialized: bool, now: DateTime<Utc>) -> Plan {
        if has_data(&self.observed.config) {
            // An error of an earlier reconcile, like that of releasing the lock, may have set it to False.
            let available = conditions::is_true(condition::DATA_SECRET_AVAILABLE, "Available");
            return Plan { conditions: vec![available], ..Plan::of(self.with_data(now)) };
        }
        if let Some(name) = self.owner.data_secret_name() {
            return Plan::of(Step::Adopt(name.to_owned()));
        }
        match (initialized, self.owner.is_control_plane()) {
            (false, true) => self.init().unwrap_or_else(|plan| plan),
            (false, false) => wait_for_control_plane(),
            (true, true) => self.join(Role::JoinControlPlane, false).unwrap_or_else(|plan| plan),
            (true, false) => self.join(Role::JoinWorker, false).unwrap_or_else(|plan| plan),
        }
    }

    /// Returns the next step once the bootstrap data exist: only a bootstrap token that a host may still use
    /// needs attention. Any further machine of a MachinePool may use it.
    fn with_data(&self, now: DateTime<Utc>) -> Step {
        if !wants_token(self.observed, self.owner) {
            return Step::Wait;
        }
        let renew = || match self.join(Role::JoinWorker, true) {
            Ok(plan) => plan.step,
            // What is missing does not make the present data wrong.
            Err(_) => Step::WatchToken,
        };
        match self.observed.token {
            Token::Unknown => Step::WatchToken,
            Token::Missing if self.owner.is_pool() => renew(),
            Token::Missing => Step::KeepToken,
            Token::Expires(at) if self.owner.has_joined() => {
                if at - now < token::LIFETIME / 2 {
                    renew()
                } else {
                    Step::WatchToken
                }
            }
            Token::Expires(at) if token::is_refresh_due(at, now) => Step::KeepToken,
            Token::Expires(_) => Step::WatchToken,
        }
    }

    fn init(&self) -> Result<Plan, Plan> {
        let make_certificates = self.certificates_to_make()?;
        let version = self.inputs()?;
        match self.observed.lock {
            // Another Machine is initialising the cluster; its deletion or the lock's is an event.
            Lock::Taken => Err(wait_for_control_plane()),
            lock => Ok(Plan::of(Step::Bootstrap(Bootstrap {
                role: Role::Init,
                version,
                break_lock: lock == Lock::Abandoned,
                make_certificates,
                make_token: false,
            }))),
        }
    }

    /// Returns the authorities to create here, which are some only without a control plane provider.
    fn certificates_to_make(&self) -> Result<Vec<Purpose>, Plan> {
        self.refuse_unusable()?;
        let missing = &self.observed.authorities.missing;
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let message = "Waiting for the certificates of the Cluster to be created";
        if self.cluster.spec.control_plane_ref.is_some() {
            let why = "Waiting for the control plane provider to create them";
            return Err(Plan::without_certificates(message, why));
        }
        let config = self.observed.config.spec.cluster_configuration.clone().unwrap_or_default();
        let given: Vec<String> = missing
            .iter()
            .filter(|purpose| certificates::is_given(**purpose, &config))
            .map(|purpose| purpose.secret_name(self.cluster.metadata.name.as_deref().unwrap_or_default()))
            .collect();
        if given.is_empty() {
            return Ok(missing.clone());
        }
        let why = format!("An external etcd needs these Secrets, which do not exist: {}", given.join(", "));
        Err(Plan::without_certificates(message, &why))
    }

    fn refuse_unusable(&self) -> Result<(), Plan> {
        let unusable = &self.observed.authorities.unusable;
        if unusable.is_empty() {
            return Ok(());
        }
        let message = "Waiting for the certificates of the Cluster to be corrected";
        Err(Plan::without_certificates(message, &unusable.join(", ")))
    }

    /// Checks what each role needs. Returns the Kubernetes version.
    fn inputs(&self) -> Result<Version, Plan> {
        let kind = if self.owner.is_pool() { "MachinePool" } else { "Machine" };
        let version = self.owner.version().and_then(Version::parse).ok_or_else(|| {
            Plan::waiting(format!("The {kind} has no valid version, which kubeadm's configuration needs"))
        })?;
        if render::endpoint(self.cluster).is_err() {
            return Err(Plan::waiting("Waiting for Cluster spec.controlPlaneEndpoint to be set"));
        }
        if self.observed.missing_values.is_empty() {
            return Ok(version);
        }
        Err(Plan::waiting(self.observed.missing_values.join(", ")))
    }

    fn join(&self, role: Role, renew: bool) -> Result<Plan, Plan> {
        self.refuse_unusable()?;
        if !self.observed.authorities.missing.is_empty() {
            let message = "Waiting for the certificates of the Cluster";
            return Err(Plan::without_certificates(message, "Certificates of the Cluster are missing"));
        }
        let version = self.inputs()?;
        let spec = &self.observed.config.spec;
        let join = spec.join_configuration.as_ref();
        if role == Role::JoinWorker && join.is_some_and(|join| join.control_plane.is_some()) {
            let text = "spec.joinConfiguration.controlPlane is set, but the Machine is a worker: remove it";
            return Err(Plan::waiting(text));
        }
        let make_token = render::uses_token(spec) && (renew || render::token(spec).is_none());
        if make_token && !self.observed.connected {
            let text = "Waiting for the connection to the workload cluster, to create a bootstrap token";
            return Err(Plan::waiting(text));
        }
        let make_certificates = Vec::new();
        let bootstrap = Bootstrap { role, version, break_lock: false, make_certificates, make_token };
        Ok(Plan::of(Step::Bootstrap(bootstrap)))
    }
}

/// Returns whether the bootstrap data exist.
pub fn has_data(config: &KubeadmConfig) -> bool {
    let initialization = config.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.data_secret_created == Some(true))
}

/// Returns whether a host may still need the bootstrap token that is in the bootstrap data.
pub fn wants_token(observed: &Observed, owner: &Owner) -> bool {
    let spec = &observed.config.spec;
    let is_join = spec.join_configuration.is_some() && render::uses_token(spec);
    let is_token = render::token(spec).and_then(token::secret_name).is_some();
    is_join && is_token && !owner.is_deleting() && (owner.is_pool() || !owner.has_joined())
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
