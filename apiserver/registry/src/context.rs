//! What a request says beside the object itself.

use std::collections::BTreeMap;

use bytes::Bytes;
use machinery::status::Status;
use serde_json::Value;

use crate::ownership::Conversions;

/// Who asks.
#[derive(Debug, Clone, Default)]
pub struct User {
    /// `system:admin`
    pub name: String,
    /// Empty for users without one.
    pub uid: String,
    /// Groups, `system:authenticated` included.
    pub groups: Vec<String>,
    /// Further attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// `fieldValidation`: what happens to unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped, with a warning each.
    #[default]
    Warn,
    /// They fail the request.
    Strict,
}

/// The name of the server itself.
pub(crate) const INTERNAL: &str = "system:apiserver";

/// One request: who, how, and what to tell the client beside the answer.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Who asks.
    pub user: User,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// `fieldManager` as it was given; empty: derived from the user agent.
    pub field_manager: String,
    /// `dryRun=All`
    pub dry_run: bool,
    /// `fieldValidation`
    pub field_validation: FieldValidation,
    /// Why the user may not create what an update or an apply does not find; `None`: they may.
    pub create_refusal: Option<Status>,
    /// Texts of `Warning` headers, in order, filled by the verbs.
    pub warnings: Vec<String>,
    /// What field ownership needs converted by a webhook; kept by the registry, empty to begin with.
    pub conversions: Conversions,
}

impl Context {
    /// The manager that owns what this request sets: `fieldManager`, else the user agent up to its first slash
    /// (cut to 128 bytes), else `unknown`.
    pub fn manager(&self) -> String {
        if !self.field_manager.is_empty() {
            return self.field_manager.clone();
        }
        let product = self.user_agent.split('/').next().unwrap_or_default();
        let printable: String = product.chars().filter(|c| !c.is_control()).take(128).collect();
        if printable.is_empty() { "unknown".to_owned() } else { printable }
    }

    /// A request of the server itself, under the name of one of its controllers.
    pub fn internal(manager: &str) -> Self {
        Self {
            user: User { name: INTERNAL.into(), groups: vec!["system:masters".into()], ..User::default() },
            field_manager: manager.to_owned(),
            field_validation: FieldValidation::Ignore,
            ..Self::default()
        }
    }
}

/// A parsed request body.
#[derive(Debug, Clone)]
pub struct Input {
    /// The object, in the version of the request.
    pub object: Value,
    /// What strict decoding found in the text, `duplicate field "spec.a"`: an error or a warning by
    /// [`Context::field_validation`]. Unknown fields are found by the registry and need not be listed.
    pub strict_errors: Vec<String>,
}

impl Input {
    /// A body without complaints.
    pub fn new(object: Value) -> Self {
        Self { object, strict_errors: Vec::new() }
    }
}

/// The part of an object that a request addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subresource {
    /// The object itself.
    #[default]
    None,
    /// `/status`
    Status,
    /// `/scale`, an `autoscaling/v1` Scale.
    Scale,
    /// `/finalize` of namespaces.
    Finalize,
    /// `/approval` of CertificateSigningRequests.
    Approval,
    /// `/ephemeralcontainers` of Pods.
    EphemeralContainers,
    /// `/resize` of Pods.
    Resize,
}

impl Subresource {
    const ALL: [Self; 7] = [
        Self::None,
        Self::Status,
        Self::Scale,
        Self::Finalize,
        Self::Approval,
        Self::EphemeralContainers,
        Self::Resize,
    ];

    /// The one with that path segment.
    pub fn named(segment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == segment)
    }

    /// The path segment, empty for the object itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
        }
    }
}

/// A patch, by its content type.
#[derive(Debug, Clone)]
pub enum PatchBody {
    /// `application/json-patch+json`, as JSON text.
    Json(Bytes),
    /// `application/merge-patch+json`, as JSON text.
    Merge(Bytes),
    /// `application/strategic-merge-patch+json`, as JSON text; built-in kinds only (serving answers 415 for others).
    Strategic(Bytes),
    /// `application/apply-patch+yaml`
    Apply {
        /// The applied configuration.
        input: Input,
        /// `force=true`
        force: bool,
    },
}

/// Parameters of a list, as texts of the query; empty for absent ones.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// `labelSelector`
    pub label_selector: String,
    /// `fieldSelector`
    pub field_selector: String,
    /// `limit`; 0 and below: no limit.
    pub limit: i64,
    /// `continue`
    pub continue_token: String,
    /// `resourceVersion`
    pub resource_version: String,
    /// `resourceVersionMatch`
    pub resource_version_match: String,
    /// `sendInitialEvents`, which is refused: lists have no events.
    pub send_initial_events: Option<bool>,
}

/// Parameters of a watch, as texts of the query; empty for absent ones. The time limit is the caller's.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// `labelSelector`
    pub label_selector: String,
    /// `fieldSelector`
    pub field_selector: String,
    /// `resourceVersion`
    pub resource_version: String,
    /// `resourceVersionMatch`
    pub resource_version_match: String,
    /// `allowWatchBookmarks`
    pub bookmarks: bool,
    /// `sendInitialEvents`, when given.
    pub send_initial_events: Option<bool>,
}

/// What must hold of the object for a deletion to happen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The UID.
    pub uid: Option<String>,
    /// The `resourceVersion`.
    pub resource_version: Option<String>,
}

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The owner stays until its dependents are gone.
    Foreground,
    /// The owner goes at once, its dependents after it.
    Background,
    /// The dependents lose their owner and stay.
    Orphan,
}

/// `metav1.DeleteOptions`, from the query and the body. Serving has validated the enumerations.
#[derive(Debug, Clone, Default)]
pub struct DeleteOptions {
    /// `gracePeriodSeconds`
    pub grace_period_seconds: Option<i64>,
    /// `preconditions`
    pub preconditions: Preconditions,
    /// `propagationPolicy`
    pub propagation: Option<Propagation>,
    /// `orphanDependents`, the older spelling.
    pub orphan_dependents: Option<bool>,
}
