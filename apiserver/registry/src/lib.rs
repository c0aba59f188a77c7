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
mod binding;
mod builtin;
pub mod context;
mod conversion;
mod convert;
mod create;
mod decode;
pub mod definition;
mod definition_writes;
pub mod definitions;
mod delete;
mod document;
mod events;
mod from_crd;
mod go_json;
mod go_time;
mod housekeeping;
mod keys;
mod kinds;
mod list;
mod meta;
mod object_meta;
mod open;
pub mod options;
mod ownership;
mod patch;
mod registry;
pub mod response;
mod scale;
mod select;
mod storage;
mod strategy;
mod transient;
mod update;
mod watch;
pub mod webhook;
mod write;

pub use builtin::check_delete_options;
pub use context::{
    Context, DeleteOptions, FieldValidation, Input, ListOptions, PatchBody, Preconditions, Propagation,
    Subresource, User, WatchOptions,
};
pub use decode::strictness;
pub use definitions::{Definitions, Served};
pub use open::OpenError;
pub use options::{Admission, Housekeeping, Operation, Options, Review};
pub use patch::unknown_version;
pub use registry::Registry;
pub use response::{Deleted, EventType, Item, List, Watch, WatchEvent, Written};
pub use webhook::{WebhookCaller, WebhookClientConfig, WebhookError, WebhookRequest, WebhookResponse};
