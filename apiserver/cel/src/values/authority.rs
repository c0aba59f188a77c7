//! The values of Kubernetes' authorization library.

use std::fmt::{self, Debug, Formatter};

use crate::declared::{AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK};

/// Who asks for a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// The user of the request.
    User,
    /// A ServiceAccount.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What a permission is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A path such as `/healthz`.
    Path(String),
    /// A resource.
    Resource(Resource),
}

/// A resource, as an expression names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resource {
    /// The API group.
    pub group: String,
    /// The plural name.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}

/// Decides what expressions ask the variable `authorizer`.
pub trait Decider {
    /// Returns whether the asker may use the verb, and the reason.
    fn decide(&self, asker: &Asker, verb: &str, subject: &Subject) -> (bool, String);

    /// Returns the resource of the request.
    fn request_resource(&self) -> Resource;
}

/// A value of the library.
#[derive(Clone)]
pub(crate) struct Authority<'a> {
    pub decider: &'a dyn Decider,
    pub asker: Asker,
    pub step: Step,
}

/// How far an expression has named what it asks for.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Authorizer,
    Group(String),
    Subject(Subject),
    Decision { allowed: bool, reason: String },
}

impl Authority<'_> {
    /// Returns the name of the type.
    pub fn type_name(&self) -> &'static str {
        match &self.step {
            Step::Authorizer => AUTHORIZER,
            Step::Group(_) => GROUP_CHECK,
            Step::Subject(Subject::Path(_)) => PATH_CHECK,
            Step::Subject(Subject::Resource(_)) => RESOURCE_CHECK,
            Step::Decision { .. } => DECISION,
        }
    }

    /// Returns the value after one more step.
    pub fn then(&self, step: Step) -> Self {
        Self { decider: self.decider, asker: self.asker.clone(), step }
    }
}

impl Debug for Authority<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {:?}", self.asker, self.step)
    }
}
