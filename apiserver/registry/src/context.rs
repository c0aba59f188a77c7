//! The parameters of requests, apart from the object itself.

use bytes::Bytes;
use kinds::User;
use machinery::status::Status;
use serde_json::Value;

use crate::aside::Aside;
use crate::permissions::Permissions;
use crate::versions::conversions::Conversions;

/// `fieldValidation`: the treatment of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// The fields are dropped silently.
    Ignore,
    /// The fields are dropped, with a warning for each.
    #[default]
    Warn,
    /// The fields fail the request.
    Strict,
}

/// The user name of the server itself.
pub(crate) const INTERNAL: &str = "system:apiserver";

/// One request: its user, its options, and the warnings for the client.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The user that makes the request.
    pub user: User,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// `fieldManager` as given. If empty, the manager is derived from the user agent.
    pub field_manager: String,
    /// Whether `dryRun=All` is set.
    pub dry_run: bool,
    /// The `fieldValidation` parameter.
    pub field_validation: FieldValidation,
    /// Why the user may not create an object that an update or apply does not find; `None` if the user may create it.
    pub create_refusal: Option<Status>,
    /// `propagationPolicy` of a deletion, for admission. The verb sets it from its [`DeleteOptions`]; callers leave it empty.
    pub propagation: Option<Propagation>,
    /// The texts of the `Warning` headers, in order. The verbs add to them.
    pub warnings: Vec<String>,
    /// Objects that a webhook has converted for field ownership. The registry fills it; callers start with an empty
    /// one.
    pub conversions: Conversions,
    /// How work on many bytes is performed.
    pub aside: Aside,
    /// Whether the server needs this write before it answers requests, or to serve a kind. Webhooks and policies do not apply then: what answers
    /// a webhook may run only when the server does, and no policy may keep the server from starting or a definition from being served.
    pub is_start: bool,
    /// Decides what expressions of policies and webhooks ask `authorizer`. Without it, only `system:masters` may do anything.
    pub permissions: Permissions,
}

impl Context {
    /// Returns the manager that owns the fields set by this request: `fieldManager`, else the user agent up to its
    /// first slash (truncated to 128 characters), else `unknown`.
    pub(crate) fn manager(&self) -> String {
        if !self.field_manager.is_empty() {
            return self.field_manager.clone();
        }
        let product = self.user_agent.split('/').next().unwrap_or_default();
        let printable: String = product.chars().filter(|c| !c.is_control()).take(128).collect();
        if printable.is_empty() { "unknown".to_owned() } else { printable }
    }

    /// Creates the context of a request that the server makes itself, in the name of one of its controllers.
    pub fn internal(manager: &str) -> Self {
        Self {
            user: User { name: INTERNAL.into(), groups: vec!["system:masters".into()], ..User::default() },
            field_manager: manager.to_owned(),
            field_validation: FieldValidation::Ignore,
            ..Self::default()
        }
    }

    /// Creates the context of a write that the server needs before it answers requests, or to serve a kind.
    pub fn start(manager: &str) -> Self {
        Self { is_start: true, ..Self::internal(manager) }
    }
}

/// A parsed request body.
#[derive(Debug, Clone)]
pub struct Input {
    /// The object, in the version of the request.
    pub object: Value,
    /// Problems that strict decoding found in the text, for example `duplicate field "spec.a"`.
    /// [`Context::field_validation`] decides whether they are errors or warnings. Unknown fields are found by the
    /// registry and need not be listed.
    pub strict_errors: Vec<String>,
}

impl Input {
    /// Creates an input without strict decoding errors.
    pub fn new(object: Value) -> Self {
        Self { object, strict_errors: Vec::new() }
    }
}

/// A patch, by content type.
#[derive(Debug, Clone)]
pub enum PatchBody {
    /// `application/json-patch+json`, as JSON text.
    Json(Bytes),
    /// `application/merge-patch+json`, as JSON text.
    Merge(Bytes),
    /// `application/strategic-merge-patch+json`, as JSON text. Only for built-in kinds; the HTTP layer answers 415 for
    /// others.
    Strategic(Bytes),
    /// `application/apply-patch+yaml`.
    Apply {
        /// The applied configuration.
        input: Input,
        /// `force=true`.
        force: bool,
    },
}

/// Parameters of a list, as in the query; empty if absent.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// `labelSelector`.
    pub label_selector: String,
    /// `fieldSelector`.
    pub field_selector: String,
    /// `limit`. 0 and negative numbers mean no limit.
    pub limit: i64,
    /// `continue`.
    pub continue_token: String,
    /// `resourceVersion`.
    pub resource_version: String,
    /// `resourceVersionMatch`.
    pub resource_version_match: String,
    /// `sendInitialEvents`. It is refused, because a list has no events.
    pub send_initial_events: Option<bool>,
}

/// Parameters of a watch, as in the query; empty if absent. The caller enforces the timeout.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// `labelSelector`.
    pub label_selector: String,
    /// `fieldSelector`.
    pub field_selector: String,
    /// `resourceVersion`.
    pub resource_version: String,
    /// `resourceVersionMatch`.
    pub resource_version_match: String,
    /// `allowWatchBookmarks`.
    pub bookmarks: bool,
    /// `sendInitialEvents`, if given.
    pub send_initial_events: Option<bool>,
}

/// Preconditions of a deletion: the values that the stored object must have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The required UID.
    pub uid: Option<String>,
    /// The required `resourceVersion`.
    pub resource_version: Option<String>,
}

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The owner stays until its dependents are deleted.
    Foreground,
    /// The owner is deleted at once, its dependents after it.
    Background,
    /// The dependents stay; their owner reference is removed.
    Orphan,
}

impl Propagation {
    /// Returns the value of `propagationPolicy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Foreground => "Foreground",
            Self::Background => "Background",
            Self::Orphan => "Orphan",
        }
    }
}

/// `metav1.DeleteOptions`, from the query and the body. The HTTP layer has validated the enumerations.
#[derive(Debug, Clone, Default)]
pub struct DeleteOptions {
    /// `gracePeriodSeconds`.
    pub grace_period_seconds: Option<i64>,
    /// `preconditions`.
    pub preconditions: Preconditions,
    /// `propagationPolicy`.
    pub propagation: Option<Propagation>,
    /// `orphanDependents`, the deprecated form of `propagationPolicy`.
    pub orphan_dependents: Option<bool>,
}

impl DeleteOptions {
    /// Returns the policy that the request asks for, in either form.
    pub(crate) fn policy(&self) -> Option<Propagation> {
        let older = |orphan| if orphan { Propagation::Orphan } else { Propagation::Background };
        self.propagation.or(self.orphan_dependents.map(older))
    }
}
