//! An event that a plan records.

use k8s_openapi::api::core::v1::ObjectReference;

use crate::events::Recorder;
use crate::object::Kind;

/// An event to record, about the reconciled object if no other one is named.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Whether the event is a warning rather than a normal event.
    pub warning: bool,
    /// Reason, for example `InfrastructureReady`.
    pub reason: &'static str,
    /// Message for people.
    pub message: String,
    about: Option<ObjectReference>,
}

impl Event {
    /// Creates a normal event.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: false, reason, message: message.into(), about: None }
    }

    /// Creates a warning event.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::normal(reason, message) }
    }

    /// Makes `object` the one that the event is about.
    #[must_use]
    pub fn about<K: Kind<DynamicType = ()>>(self, object: &K) -> Self {
        Self { about: Some(Recorder::reference(object, &())), ..self }
    }

    /// Records the event, on `object` unless it is about another one.
    pub fn record<K: Kind<DynamicType = ()>>(&self, recorder: &Recorder, object: &K) {
        let about = self.about.clone().unwrap_or_else(|| Recorder::reference(object, &()));
        let type_ = if self.warning { "Warning" } else { "Normal" };
        recorder.send(about, type_, self.reason, self.message.clone());
    }
}
