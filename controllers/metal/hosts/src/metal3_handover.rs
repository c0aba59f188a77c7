//! Hands hosts over to another management cluster, whose controllers may be Metal3's.
//!
//! Before a Cluster moves, the status of its hosts is stored in Metal3's annotation, and the hosts are paused in the same way as by
//! Metal3's Cluster API provider, so that the target does not treat such a host as a new one. A provisioned host without a BMC gets the
//! fields that Metal3 expects of a host that it must not touch (`contract/metal3`, §3.5): it is detached, with an unreachable address
//! and dummy credentials. When the Cluster is active again under our controllers, at the target or at the source, all of that is
//! reverted.
//!
//! A host without a Cluster moves with the others of its namespace. It is handed over with one of the Clusters there, because the
//! target would otherwise treat it as new, and deleting it at the source would switch it off.

use std::sync::Arc;

use engine::controller::requests_of;
use engine::object::{annotation, is_deleting};
use engine::{
    Action, Change, Controller, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result,
    finalizer, owners, unless_gone,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::cluster::Cluster;
use schemas::hand_over::{HAND_OVER, MOVING, PAUSED_BY, READY};
use schemas::infrastructure::Metal3Machine;
use schemas::metal3::{BareMetalHost, BareMetalHostStatus, BmcDetails};
use schemas::names::{CLUSTER_NAME, ENVIRONMENT};

use crate::names::{
    DETACHED, ErrorType, HANDED_OVER, PAUSED, PAUSED_BY_PROVIDER, POWER, SECRET_FINALIZER, STATUS,
    operational,
};
use crate::state::HostState;

/// Annotation on a handed-over host without a Cluster: the Cluster with which it moves.
pub const MOVES_WITH: &str = "metal.firstlight.dev/moves-with";
/// An address of a documentation network (RFC 5737), at which nothing answers.
pub const NOWHERE: &str = "ipmi://192.0.2.1";
/// The end of the name of dummy credentials, after the name of their host.
const STAND_IN: &str = "-without-bmc";
/// The value of [`HANDED_OVER`] on hosts without a power annotation to restore.
const NOTHING: &str = "";

/// Starts the controller.
pub fn start(manager: &Manager) {
    let reconciler = HandOverReconciler {
        hosts: manager.objects(),
        clusters: manager.objects(),
        secrets: manager.objects(),
    };
    let hosts: Objects<BareMetalHost> = reconciler.hosts.clone();
    Controller::new(manager, "baremetalhost-hand-over")
        .reconciles(&reconciler.hosts.clone())
        .watches(&reconciler.clusters.clone(), move |change| {
            if !is_of_concern(change) {
                return Vec::new();
            }
            let beside = hosts.in_namespace(&change.name().namespace);
            requests_of(&beside)
        })
        .watches(&reconciler.secrets.clone(), of_stand_in)
        .start(reconciler);
}

/// Returns the host of the dummy credentials.
fn of_stand_in(change: &Change<Secret>) -> Vec<Request> {
    let NamespacedName { namespace, name } = change.name();
    let host = name.strip_suffix(STAND_IN).map(|host| Request::new(namespace, host));
    host.into_iter().collect()
}

/// Returns whether a Cluster has begun or ceased to exist, to move or to be paused. The hosts depend on nothing else of it.
pub fn is_of_concern(change: &Change<Cluster>) -> bool {
    let known = |cluster: &Arc<Cluster>| {
        (annotation(cluster.as_ref(), MOVING).is_some(), cluster.spec.paused == Some(true))
    };
    change.old.as_ref().map(known) != change.new.as_ref().map(known)
}

struct HandOverReconciler {
    hosts: Objects<BareMetalHost>,
    clusters: Objects<Cluster>,
    secrets: Objects<Secret>,
}

/// Returns the Cluster with which a host moves, out of those in its namespace: its own one, or the one with which it was handed over. A
/// host without either moves with a Cluster that is about to move, or else with the first one. So does a host whose own Cluster is not there,
/// but only with one that is about to move: at the target, its own one may be still to come.
pub fn cluster_of(host: &BareMetalHost, mut clusters: Vec<Arc<Cluster>>) -> Option<Arc<Cluster>> {
    let is_moving = |cluster: &Arc<Cluster>| annotation(cluster.as_ref(), MOVING).is_some();
    clusters.sort_by_key(|cluster| (!is_moving(cluster), cluster.metadata.name.clone()));
    let name = engine::object::label(host, CLUSTER_NAME).or_else(|| annotation(host, MOVES_WITH));
    let Some(name) = name else { return clusters.into_iter().next() };
    let own = clusters.iter().position(|cluster| cluster.metadata.name.as_deref() == Some(name));
    match own {
        Some(own) => Some(clusters.swap_remove(own)),
        None => clusters.into_iter().next().filter(is_moving),
    }
}

/// The result of [`plan`].
#[derive(Debug, PartialEq)]
pub struct Plan {
    /// The wanted host.
    pub host: BareMetalHost,
    /// Whether the dummy credentials must exist; otherwise they are deleted.
    pub has_stand_in: bool,
}

fn stand_in_name(host: &BareMetalHost) -> String {
    format!("{}{STAND_IN}", host.metadata.name.as_deref().unwrap_or_default())
}

/// Returns what prepares the host for its move to another management cluster, or undoes this there.
pub fn plan(host: &BareMetalHost, cluster: &Cluster) -> Result<Plan> {
    let mut wanted = host.clone();
    let is_moving = annotation(cluster, MOVING).is_some();
    let is_paused = cluster.spec.paused == Some(true);
    let handed_over = annotation(host, HANDED_OVER);
    if is_moving && annotation(host, HAND_OVER) != Some(READY) {
        hand_over(&mut wanted)?;
        if engine::object::label(host, CLUSTER_NAME).is_none() {
            let name = cluster.metadata.name.clone().unwrap_or_default();
            wanted.metadata.annotations.get_or_insert_default().insert(MOVES_WITH.to_owned(), name);
        }
    } else if !is_moving && !is_paused {
        if let Some(means) = handed_over {
            take_back(&mut wanted, means);
        }
        if let Some(annotations) = &mut wanted.metadata.annotations {
            annotations.remove(HAND_OVER);
        }
    }
    let has_stand_in = annotation(&wanted, HANDED_OVER).is_some_and(|means| means != NOTHING);
    Ok(Plan { host: wanted, has_stand_in })
}

fn hand_over(host: &mut BareMetalHost) -> Result<()> {
    let is_in_use = HostState::of(host).is_in_use();
    let consumer = host.spec.consumer_ref.as_ref();
    let is_of_a_machine =
        consumer.is_some_and(|consumer| consumer.kind.as_deref() == Some(Metal3Machine::KIND));
    let means = annotation(host, POWER).filter(|_| is_in_use && host.spec.bmc.is_none()).map(str::to_owned);
    let stand_in = BmcDetails {
        address: NOWHERE.to_owned(),
        credentials_name: stand_in_name(host),
        ..BmcDetails::default()
    };
    if means.is_some() {
        host.spec.bmc = Some(stand_in);
        if let Some(status) = &mut host.status {
            status.provisioning.id = String::new();
            status.operational_status = operational::DETACHED.to_owned();
            status.error_type = None;
            status.error_message = String::new();
        }
    }
    let status = host.status.as_ref().map(told).map(|status| serde_json::to_string(&status));
    let status = status.transpose().map_err(|error| Error::json("a host's status".to_owned(), error))?;
    let annotations = host.metadata.annotations.get_or_insert_default();
    if means.is_some() {
        annotations.remove(POWER);
        annotations.entry(DETACHED.to_owned()).or_insert_with(|| HANDED_OVER.to_owned());
    }
    annotations.insert(HANDED_OVER.to_owned(), means.unwrap_or_else(|| NOTHING.to_owned()));
    // An existing pause of another controller stays.
    let paused = annotations.entry(PAUSED.to_owned()).or_insert_with(|| PAUSED_BY_PROVIDER.to_owned());
    // Metal3's provider for Cluster API resumes only the hosts of its machines.
    if paused == PAUSED_BY_PROVIDER && !is_of_a_machine {
        annotations.insert(PAUSED_BY.to_owned(), PAUSED.to_owned());
    }
    if let Some(status) = status {
        annotations.insert(STATUS.to_owned(), status);
    }
    annotations.insert(HAND_OVER.to_owned(), READY.to_owned());
    Ok(())
}

/// Returns the status in a form that Metal3's webhook accepts in the annotation [`STATUS`]: it lacks the states of firmware changes.
pub fn told(status: &BareMetalHostStatus) -> BareMetalHostStatus {
    let mut status = status.clone();
    if status.operational_status == operational::SERVICING {
        status.operational_status = operational::OK.to_owned();
    }
    if status.error_type.as_deref() == Some(ErrorType::Servicing.name()) {
        status.error_type = None;
        status.error_message = String::new();
        status.operational_status = operational::OK.to_owned();
    }
    status
}

fn take_back(host: &mut BareMetalHost, means: &str) {
    let name = stand_in_name(host);
    let is_stand_in = host.spec.bmc.as_ref().is_some_and(|bmc| bmc.credentials_name == name);
    let has_status = host.status.as_ref().is_some_and(|status| status.last_updated.is_some());
    let annotations = host.metadata.annotations.get_or_insert_default();
    if annotations.get(PAUSED).is_some_and(|by| by == PAUSED_BY_PROVIDER) {
        annotations.remove(PAUSED);
    }
    if !has_status && annotations.contains_key(STATUS) {
        // The mover did not copy the status, so the host's controller must first restore it from the annotation.
        return;
    }
    annotations.remove(HANDED_OVER);
    annotations.remove(MOVES_WITH);
    annotations.remove(PAUSED_BY);
    annotations.remove(STATUS);
    if is_stand_in {
        annotations.insert(POWER.to_owned(), means.to_owned());
        if annotations.get(DETACHED).is_some_and(|by| by == HANDED_OVER) {
            annotations.remove(DETACHED);
        }
        host.spec.bmc = None;
    }
}

impl HandOverReconciler {
    /// Creates or deletes the dummy credentials. Metal3 requires a user and a password that are not empty; they are never used.
    async fn keep_stand_in(&self, host: &BareMetalHost, is_wanted: bool) -> Result<()> {
        let key =
            NamespacedName::new(host.metadata.namespace.clone().unwrap_or_default(), stand_in_name(host));
        match (self.secrets.get(&key), is_wanted) {
            (Some(secret), false) if owners::is_owned_by(secret.as_ref(), engine::object::uid(host)) => {
                if !is_deleting(secret.as_ref()) {
                    return self.secrets.delete(secret.as_ref()).await;
                }
                // The host's controller may have used them before the host was taken back. Nobody can add a finalizer to a Secret that is being deleted.
                let mut wanted = secret.as_ref().clone();
                finalizer::remove(&mut wanted, SECRET_FINALIZER);
                unless_gone(self.secrets.patch(&secret, &wanted, &[]).await)
            }
            (None, true) => {
                let nobody = |key: &str| (key.to_owned(), "nobody".to_owned());
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: Some(key.name),
                        namespace: Some(key.namespace),
                        labels: Some([(ENVIRONMENT.0.to_owned(), ENVIRONMENT.1.to_owned())].into()),
                        // The owner reference makes the Secret move with its host.
                        owner_references: Some(vec![owners::reference(host, &())]),
                        ..ObjectMeta::default()
                    },
                    string_data: Some([nobody("username"), nobody("password")].into()),
                    type_: Some("Opaque".to_owned()),
                    ..Secret::default()
                };
                self.secrets.create_if_absent(&secret).await.map(drop)
            }
            _ => Ok(()),
        }
    }
}

impl Reconciler for HandOverReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(host) = self.hosts.get(&request) else { return Ok(Action::done()) };
        let beside = self.clusters.in_namespace(&request.namespace);
        let (Some(cluster), None) = (cluster_of(&host, beside), &host.metadata.deletion_timestamp) else {
            return Ok(Action::done());
        };
        let plan = plan(&host, &cluster)?;
        if plan.has_stand_in {
            self.keep_stand_in(&host, true).await?;
        }
        self.hosts.patch(&host, &plan.host, &[]).await?;
        if !plan.has_stand_in {
            self.keep_stand_in(&host, false).await?;
        }
        Ok(Action::done())
    }
}
