//! The implementation of the API verbs: definitions of resources, strategies of kinds, admission and housekeeping.
//!
//! [`Registry`] is the whole interface. The HTTP layer finds the resource with [`Registry::served`], fills in a
//! [`Context`], and calls one verb:
//!
//! ```no_run
//! # use registry::{Context, Input, Registry};
//! # async fn example(registry: Registry, body: serde_json::Value) -> Result<(), machinery::status::Status> {
//! if let Some(served) = registry.served("apps", "v1", "deployments") {
//!     let mut context = Context { field_manager: "kubectl".into(), ..Context::default() };
//!     let written = registry.create(&mut context, &served, "default", Input::new(body)).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - Objects are passed as parsed [`Input`]s in the version of the request, and returned as [`bytes::Bytes`]: JSON in
//!   the version of the given [`Served`], usually exactly the stored bytes.
//! - `namespace` is empty for cluster-scoped resources, and for lists and watches across all namespaces.
//! - Every error is a [`machinery::status::Status`] that can be sent to the client. Warnings are collected in
//!   [`Context::warnings`], even if the verb fails.
//! - The caller has decoded the body and checked that its `apiVersion` and `kind` match the [`Served`] (the messages of
//!   those errors quote the text). The registry checks everything else, for example types and unknown fields.
//! - The caller has authorized the request. Admission is part of the verbs ([`Admission`]).

mod admission;
pub mod aside;
mod context;
mod housekeeping;
pub mod limits;
mod options;
pub mod permissions;
mod registry;
mod response;
mod storage;
mod target;
mod verbs;
mod versions;
pub mod webhook;
mod write;

pub use admission::review::{Admission, Operation, Review};
pub use aside::{Aside, Turns};
pub use context::{
    Context, DeleteOptions, FieldValidation, Input, ListOptions, PatchBody, Preconditions, Propagation,
    WatchOptions,
};
pub use housekeeping::certificate_requests::{SignRequests, Signed};
pub use housekeeping::token_secrets::{SignTokens, TokenSecrets};
pub use kinds::definition::{Converter, Definition, Structure, from_crd};
pub use kinds::{Subresource, User};
pub use options::{Housekeeping, Options};
pub use registry::Registry;
pub use response::{Deleted, EventType, Item, List, WatchEvent, Written};
pub use verbs::get::Found;
pub use verbs::patch::unknown_version;
pub use verbs::watch::Watch;
pub use versions::definitions::{Definitions, Served};
pub use versions::kinds::{Kinds, OpenError};
pub use versions::reader::Reader;
pub use webhook::{WebhookCaller, WebhookError, WebhookRequest, WebhookResponse};
pub use write::allocation::ServiceRange;
pub use write::decode::strictness;
