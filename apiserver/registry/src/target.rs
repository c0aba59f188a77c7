//! The object that a request addresses.

use kinds::Subresource;
use machinery::field::FieldError;
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use crate::versions::definitions::Served;

/// The object of a request.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) served: &'a Served,
    /// The namespace; empty for cluster-scoped objects.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) subresource: Subresource,
}

impl Target<'_> {
    pub(crate) fn key(&self) -> String {
        crate::storage::keys::object(&self.served.definition, self.namespace, self.name)
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(self.served.resource(), self.name)
    }

    pub(crate) fn modified(&self) -> Status {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(self.served.resource(), self.name, why)
    }

    /// Returns 422 if there are errors.
    pub(crate) fn refuse(&self, object: &Value, errors: &[FieldError]) -> Result<(), Status> {
        if errors.is_empty() {
            return Ok(());
        }
        let definition = &self.served.definition;
        if !definition.built_in {
            return Err(Status::invalid(&definition.group, meta::kind(object), self.name, errors));
        }
        // Events of both groups are validated in their stored version.
        let (group, _) = crate::storage::keys::home(definition);
        Err(Status::invalid(group, &definition.kind, self.name, errors))
    }
}
