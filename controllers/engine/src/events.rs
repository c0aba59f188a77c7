//! Records Kubernetes Events (`v1`) about objects and counts repetitions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use machinery::clock::Clock;
use metrics::Limits;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::event_bursts::Bursts;
use crate::limits::EVENTS_QUEUED;
use crate::manager::Manager;
use crate::object::Kind;
use crate::objects::FIELD_MANAGER;
use crate::time;

/// The number of events of a component that are remembered, to count repetitions.
const REMEMBERED: usize = 1024;
/// The longest name of an object.
pub const MAX_NAME: usize = 253;
/// A repetition later than this starts a new event.
const REPEAT_SECONDS: i64 = 600;

/// Records the events of one component. Recording never waits and never fails, since events are
/// informational: those beyond the limits are only counted.
#[derive(Clone)]
pub struct Recorder {
    component: &'static str,
    clock: Clock,
    names: Arc<Mutex<i64>>,
    /// `None` if no events are recorded.
    sender: Option<mpsc::Sender<Event>>,
    bursts: Arc<Mutex<Bursts>>,
    reached: Limits,
}

type Remembered = Arc<Mutex<Known>>;

#[derive(Default)]
struct Known {
    events: BTreeMap<String, Event>,
    order: VecDeque<String>,
}

impl Recorder {
    /// Starts a recorder of events in the cluster of `client`.
    pub(crate) fn start(manager: &Manager, client: &Client, component: &'static str) -> Self {
        let sender = (!manager.settings().without_events).then(|| Self::record_all(manager, client));
        Self {
            component,
            clock: manager.clock().clone(),
            names: manager.event_names().clone(),
            sender,
            bursts: Arc::default(),
            reached: Limits::of(manager.all_metrics()),
        }
    }

    /// Starts the task that records the events that are sent to it.
    fn record_all(manager: &Manager, client: &Client) -> mpsc::Sender<Event> {
        let (sender, mut receiver) = mpsc::channel(EVENTS_QUEUED);
        let client = client.clone();
        manager.spawn(async move {
            let known = Remembered::default();
            while let Some(event) = receiver.recv().await {
                if let Err(error) = record(&client, &known, event).await {
                    tracing::debug!(%error, "an event could not be recorded");
                }
            }
        });
        sender
    }

    /// Records a `Normal` event.
    pub fn normal<K: Kind>(
        &self,
        object: &K,
        dynamic: &K::DynamicType,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.send(Self::reference(object, dynamic), "Normal", reason, message.into());
    }

    /// Records a `Warning` event.
    pub fn warning<K: Kind>(
        &self,
        object: &K,
        dynamic: &K::DynamicType,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.send(Self::reference(object, dynamic), "Warning", reason, message.into());
    }

    /// Returns what an event says of the object that it is about.
    pub(crate) fn reference<K: Kind>(object: &K, dynamic: &K::DynamicType) -> ObjectReference {
        let resource_version = object.meta().resource_version.clone();
        ObjectReference { resource_version, ..object.object_ref(dynamic) }
    }

    /// Records an event about the object `involved`.
    pub(crate) fn send(&self, involved: ObjectReference, type_: &str, reason: &str, message: String) {
        let Some(sender) = &self.sender else { return };
        let now = self.clock.now();
        if !self.bursts.lock().allow(&counted_with(&involved, reason), now) {
            self.reached.reached("event_burst");
            return;
        }
        let name = involved.name.clone().unwrap_or_default();
        let namespace = involved.namespace.clone().unwrap_or_else(|| "default".to_owned());
        // Event names contain a time in nanoseconds, as in client-go; two events at the same time still need
        // different names.
        let nanoseconds = {
            let mut last = self.names.lock();
            *last = now.timestamp_nanos_opt().unwrap_or_default().max(*last + 1);
            *last
        };
        let event = Event {
            metadata: ObjectMeta {
                name: Some(event_name(&name, nanoseconds)),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            involved_object: involved,
            type_: Some(type_.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some(message),
            count: Some(1),
            first_timestamp: Some(time::time(now)),
            last_timestamp: Some(time::time(now)),
            source: Some(EventSource { component: Some(self.component.to_owned()), host: None }),
            reporting_component: Some(self.component.to_owned()),
            ..Event::default()
        };
        // Otherwise the manager has stopped.
        if let Err(TrySendError::Full(_)) = sender.try_send(event) {
            self.reached.reached("events_queued");
        }
    }
}

/// Returns the name of an event: the object's name, cut where both would be too long for a name, and the time.
pub fn event_name(object: &str, nanoseconds: i64) -> String {
    let suffix = format!(".{nanoseconds:x}");
    let end = object.len().min(MAX_NAME - suffix.len());
    let object = object.get(..end).unwrap_or_default().trim_end_matches(['.', '-']);
    format!("{object}{suffix}")
}

/// Returns what the events have in common that are counted together. client-go counts all events about an object together, so that the creation
/// of a large Cluster hides its upgrade; here each reason has a burst of its own, and there are few reasons.
fn counted_with(object: &ObjectReference, reason: &str) -> String {
    format!("{:?}", (&object.api_version, &object.kind, &object.namespace, &object.name, &object.uid, reason))
}

fn identity(event: &Event) -> String {
    let object = &event.involved_object;
    format!(
        "{:?}",
        (
            &object.kind,
            &object.namespace,
            &object.name,
            &object.uid,
            &event.type_,
            &event.reason,
            &event.message
        )
    )
}

async fn record(client: &Client, known: &Remembered, mut event: Event) -> Result<(), kube::Error> {
    let namespace = event.metadata.namespace.clone().unwrap_or_default();
    let api = kube::Api::<Event>::namespaced(client.clone(), &namespace);
    let identity = identity(&event);
    let previous = known.lock().events.get(&identity).cloned();
    let recent = previous.filter(|previous| seconds_between(previous, &event) <= REPEAT_SECONDS);
    if let Some(previous) = recent {
        event.metadata.name.clone_from(&previous.metadata.name);
        event.count = previous.count.map(|count| count.saturating_add(1));
        event.first_timestamp = previous.first_timestamp;
        let patch =
            json!({"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message});
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        let name = event.metadata.name.clone().unwrap_or_default();
        known.lock().remember(identity.clone(), event.clone());
        match api.patch(&name, &parameters, &Patch::Strategic(patch)).await {
            // The previous event expired, so a new one is created below.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            result => return result.map(|_| ()),
        }
    }
    known.lock().remember(identity, event.clone());
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
    api.create(&parameters, &event).await.map(|_| ())
}

fn seconds_between(earlier: &Event, later: &Event) -> i64 {
    let seconds = |event: &Event| event.last_timestamp.as_ref().map_or(0, |at| at.0.as_second());
    seconds(later) - seconds(earlier)
}

impl Known {
    fn remember(&mut self, identity: String, event: Event) {
        if self.events.insert(identity.clone(), event).is_none() {
            self.order.push_back(identity);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.events.remove(&oldest);
            }
        }
    }
}
