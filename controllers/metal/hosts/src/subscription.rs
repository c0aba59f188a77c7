//! Controller of BMCEventSubscription: makes a BMC send its events to a destination until the object is deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use bmc::Subscription;
use engine::controller::requests_of;
use engine::{Action, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer};
use schemas::metal3::BMCEventSubscription;

use crate::connection::{Beside, Hosts};
use crate::control::{Connection, Control};
use crate::limits;
use crate::names::SUBSCRIPTION_FINALIZER;

/// Index of subscriptions by their host.
const BY_HOST: &str = "metal-subscription-host";

/// Starts the controller.
pub fn start(manager: &Manager, control: Arc<dyn Control>) {
    let hosts = Hosts { hosts: manager.objects(), secrets: manager.objects(), control };
    let reconciler = SubscriptionReconciler { subscriptions: manager.objects(), hosts };
    let all: Objects<BMCEventSubscription> = reconciler.subscriptions.clone();
    all.index(BY_HOST, |subscription| vec![host_of(subscription).to_string()]);
    Controller::new(manager, "bmceventsubscription")
        .time_limit(limits::RECONCILE)
        .reconciles(&reconciler.subscriptions.clone())
        .watches(&reconciler.hosts.hosts.clone(), move |change| {
            let known = all.by_index(BY_HOST, &change.name().to_string());
            requests_of(&known)
        })
        .reads(&reconciler.hosts.secrets.clone())
        .start(reconciler);
}

struct SubscriptionReconciler {
    subscriptions: Objects<BMCEventSubscription>,
    hosts: Hosts,
}

fn host_of(subscription: &BMCEventSubscription) -> NamespacedName {
    let namespace = subscription.metadata.namespace.clone().unwrap_or_default();
    NamespacedName::new(namespace, subscription.spec.host_name.clone().unwrap_or_default())
}

/// The reason of a failure, and whether it is retried without an event.
struct Refusal {
    message: String,
    is_tried_again: bool,
}

impl From<bmc::Error> for Refusal {
    fn from(error: bmc::Error) -> Self {
        Self { is_tried_again: !error.is_unsupported(), message: error.to_string() }
    }
}

impl SubscriptionReconciler {
    /// Returns the HTTP headers for the events: all keys of the Secret.
    fn headers(&self, subscription: &BMCEventSubscription) -> Result<BTreeMap<String, String>, Refusal> {
        let Some(reference) = &subscription.spec.http_headers_ref else { return Ok(BTreeMap::new()) };
        let namespace = subscription.metadata.namespace.clone().unwrap_or_default();
        let name = reference.name.clone().unwrap_or_default();
        let Some(secret) = self.hosts.secrets.get(&NamespacedName::new(namespace.clone(), name.clone()))
        else {
            let message =
                format!("the Secret {namespace}/{name} of spec.httpHeadersRef is not there: create it");
            return Err(Refusal { message, is_tried_again: true });
        };
        let each = secret.data.iter().flatten();
        Ok(each.map(|(name, value)| (name.clone(), String::from_utf8_lossy(&value.0).into_owned())).collect())
    }

    /// Returns the identifier of a subscription at the BMC that fits this object and belongs to no other one: a process may have
    /// created it, and ended before it could record it.
    async fn forgotten(
        &self,
        subscription: &BMCEventSubscription,
        client: &dyn bmc::Bmc,
    ) -> Result<Option<String>, Refusal> {
        let spec = &subscription.spec;
        let beside = self.subscriptions.by_index(BY_HOST, &host_of(subscription).to_string());
        let is_known = |identifier: &str| {
            let known = |other: &Arc<BMCEventSubscription>| {
                other.status.as_ref().and_then(|status| status.subscription_id.as_deref()) == Some(identifier)
            };
            beside.iter().any(known)
        };
        let subscriptions = client.subscriptions().await?;
        let ours = subscriptions.into_iter().find(|one| {
            one.destination == spec.destination.as_deref().unwrap_or_default()
                && one.context == spec.context.as_deref().unwrap_or_default()
                && !is_known(&one.identifier)
        });
        Ok(ours.map(|one| one.identifier))
    }

    /// Creates the subscription at the BMC, and returns its identifier.
    async fn subscribe(
        &self,
        subscription: &BMCEventSubscription,
        connection: &Connection,
    ) -> Result<String, Refusal> {
        let wanted = Subscription {
            destination: subscription.spec.destination.clone().unwrap_or_default(),
            context: subscription.spec.context.clone().unwrap_or_default(),
            headers: self.headers(subscription)?,
        };
        let client = self.client(connection)?;
        match self.forgotten(subscription, client.as_ref()).await? {
            Some(identifier) => Ok(identifier),
            None => Ok(client.subscribe(&wanted).await?),
        }
    }

    /// Removes the subscription from the BMC.
    async fn unsubscribe(
        &self,
        subscription: &BMCEventSubscription,
        known: Option<&str>,
        connection: &Connection,
    ) -> Result<(), Refusal> {
        let client = self.client(connection)?;
        let identifier = match known {
            Some(known) => Some(known.to_owned()),
            None => self.forgotten(subscription, client.as_ref()).await?,
        };
        match identifier {
            Some(identifier) => Ok(client.unsubscribe(&identifier).await?),
            None => Ok(()),
        }
    }

    fn client(&self, connection: &Connection) -> Result<Arc<dyn bmc::Bmc>, Refusal> {
        let client = self.hosts.control.bmc(connection);
        client.map_err(|fault| Refusal { message: fault.message, is_tried_again: true })
    }

    async fn refused(&self, subscription: &Arc<BMCEventSubscription>, refusal: Refusal) -> Result<Action> {
        let mut wanted = subscription.as_ref().clone();
        wanted.status.get_or_insert_default().error = Some(refusal.message);
        self.subscriptions.patch(subscription, &wanted, &[]).await?;
        Ok(if refusal.is_tried_again { Action::requeue_after(limits::BMC_RETRY) } else { Action::done() })
    }

    async fn finish_deletion(
        &self,
        subscription: &Arc<BMCEventSubscription>,
        beside: &Beside,
    ) -> Result<Action> {
        let known = subscription.status.as_ref().and_then(|status| status.subscription_id.as_deref());
        match (known.filter(|known| !known.is_empty()), beside) {
            (Some(_), Beside::Untouched(_)) => return Ok(Action::done()),
            (known, Beside::Machine(_, connection)) => {
                if let Err(refusal) = self.unsubscribe(subscription, known, connection).await
                    && refusal.is_tried_again
                {
                    return self.refused(subscription, refusal).await;
                }
            }
            (Some(_), Beside::Unusable(host, problem)) if host.spec.bmc.is_some() => {
                let refusal = Refusal { message: problem.clone(), is_tried_again: true };
                return self.refused(subscription, refusal).await;
            }
            // There is no BMC with a subscription that must be removed.
            _ => {}
        }
        let mut wanted = subscription.as_ref().clone();
        finalizer::remove(&mut wanted, SUBSCRIPTION_FINALIZER);
        self.subscriptions.patch(subscription, &wanted, &[]).await?;
        Ok(Action::done())
    }
}

impl Reconciler for SubscriptionReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(subscription) = self.subscriptions.get(&request) else { return Ok(Action::done()) };
        let host = host_of(&subscription);
        let beside = self.hosts.beside(&host);
        if subscription.metadata.deletion_timestamp.is_some() {
            return if finalizer::has(subscription.as_ref(), SUBSCRIPTION_FINALIZER) {
                self.finish_deletion(&subscription, &beside).await
            } else {
                Ok(Action::done())
            };
        }
        let known = subscription.status.as_ref().and_then(|status| status.subscription_id.as_deref());
        if known.is_some_and(|known| !known.is_empty()) {
            return Ok(Action::done());
        }
        let connection = match beside {
            Beside::Untouched(_) => return Ok(Action::done()),
            Beside::Nobody => {
                let message = format!(
                    "there is no BareMetalHost {host}: create it, or correct spec.hostName in a new subscription"
                );
                return self.refused(&subscription, Refusal { message, is_tried_again: false }).await;
            }
            Beside::Unusable(_, message) => {
                return self.refused(&subscription, Refusal { message, is_tried_again: true }).await;
            }
            Beside::Machine(_, connection) => connection,
        };
        let mut wanted = subscription.as_ref().clone();
        if finalizer::add(&mut wanted, SUBSCRIPTION_FINALIZER) {
            // The finalizer is added before the BMC gets the subscription, so that it is always removed.
            self.subscriptions.patch(&subscription, &wanted, &[]).await?;
            return Ok(Action::done());
        }
        match self.subscribe(&subscription, &connection).await {
            Ok(identifier) => {
                let status = wanted.status.get_or_insert_default();
                status.subscription_id = Some(identifier);
                status.error = None;
                self.subscriptions.patch(&subscription, &wanted, &[]).await?;
                Ok(Action::done())
            }
            Err(refusal) => self.refused(&subscription, refusal).await,
        }
    }
}
