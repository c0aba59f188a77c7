//! Admission rules that the embedder implements in Rust.

use kinds::{Subresource, User};
use machinery::status::Status;
use serde_json::Value;

use crate::context::Propagation;
use crate::versions::definitions::Served;
use crate::versions::reader::Reader;

/// The operation of a request on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Creation of an object.
    Create,
    /// Any change of an object.
    Update,
    /// Deletion of an object.
    Delete,
}

/// The parameters of admission for one write.
pub struct Review<'a> {
    /// The resource in the version of the request.
    pub served: &'a Served,
    /// The subresource that is written.
    pub subresource: Subresource,
    /// The operation.
    pub operation: Operation,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The user that makes the request.
    pub user: &'a User,
    /// Whether the request is a dry run, so that nothing is stored.
    pub dry_run: bool,
    /// `propagationPolicy` of a deletion, if the request has one.
    pub propagation: Option<Propagation>,
    /// The object before the write; `None` for a creation.
    pub old: Option<&'a Value>,
    /// Reads the objects on which a rule depends.
    pub reader: Reader<'a>,
}

/// Rules that can change or refuse a write. They correspond to admission webhooks, but run in the server and do no I/O:
/// what they must know about other objects is in memory ([`Reader`]).
pub trait Admission: Send + Sync {
    /// Sets defaults. Called before validation.
    ///
    /// # Errors
    /// The refusal that the client gets.
    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status>;

    /// Decides whether the user may write what all mutating admission, webhooks and policies among it, has made of the object. Called before
    /// validation, and not for a deletion.
    ///
    /// # Errors
    /// The refusal that the client gets.
    fn permit(&self, _review: &Review<'_>, _object: &Value) -> Result<(), Status> {
        Ok(())
    }

    /// Validates a write. Called after the validation of the schema. For a deletion, `object` is the old object.
    ///
    /// # Errors
    /// The refusal that the client gets.
    fn validate(&self, review: &Review<'_>, object: &Value, warnings: &mut Vec<String>)
    -> Result<(), Status>;
}
