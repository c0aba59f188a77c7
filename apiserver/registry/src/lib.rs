//! What a verb does to an object: definitions, strategies, housekeeping.
//!
//! [`Registry`] is the whole interface. Whoever speaks HTTP finds the resource with
//! [`Registry::served`], fills in a [`Context`], and calls one verb:
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
//! - Objects come in as parsed [`Input`]s in the request's version and leave as [`bytes::Bytes`]: JSON in the version of
//!   the [`Served`] that was passed, mostly the very bytes that are stored.
//! - `namespace` is empty for cluster-scoped resources, and for lists and watches over all namespaces.
//! - Every error is a [`machinery::status::Status`] ready for the wire. Warnings gather in [`Context::warnings`], also
//!   when the verb fails.
//! - The caller has decoded the body and checked that its `apiVersion` and `kind` are those of the [`Served`] (the words
//!   of those errors quote the text); wrong types inside known fields, unknown fields and everything else is found here.
//! - Authorisation has happened before; admission happens inside, through [`Admission`].

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
