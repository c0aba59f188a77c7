//! What the plans of all controllers are made of.

use engine::{Action, Error};
use kube::api::DynamicObject;

use engine::ExternalObject;

/// An event to record about the reconciled object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// A warning rather than a normal event.
    pub warning: bool,
    /// Reason, `InfrastructureReady`.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Event {
    /// Something went as it should.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: false, reason, message: message.into() }
    }
}

/// A provider's object, and how it should be.
#[derive(Debug, Clone)]
pub struct ExternalChange {
    /// As it was read.
    pub read: ExternalObject,
    /// As it should be.
    pub wanted: DynamicObject,
}

/// What became of a reference to a provider's object.
#[derive(Debug, Clone)]
pub enum Reference {
    /// There is none.
    None,
    /// The object.
    Found(ExternalObject),
    /// It names an object that does not exist.
    NotFound,
    /// It can't be read: why.
    Failed(String),
}

impl Reference {
    /// Of what a read returned.
    pub fn of(result: engine::Result<Option<ExternalObject>>) -> Self {
        match result {
            Ok(Some(object)) => Self::Found(object),
            Ok(None) => Self::NotFound,
            Err(error) => Self::Failed(error.to_string()),
        }
    }

    /// The object.
    pub fn found(&self) -> Option<&ExternalObject> {
        match self {
            Self::Found(object) => Some(object),
            _ => None,
        }
    }
}

/// Ends a reconcile: the errors of its steps, or when to come again.
pub fn finish(errors: Vec<Error>, action: Action) -> engine::Result<Action> {
    Error::aggregate(errors).map(|()| action)
}
