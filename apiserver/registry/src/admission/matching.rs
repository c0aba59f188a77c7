//! Decides whether a webhook or a policy applies to a request.

use std::sync::Arc;

use kinds::definition::Version;
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use super::attributes::Attributes;
use super::matcher::Matcher;
use crate::versions::current::Versions;

impl Matcher {
    /// Returns the version in which the request matches, or `None` if it does not match.
    ///
    /// # Errors
    /// If the namespace selector needs the namespace of the request and that namespace does not exist.
    pub(crate) fn matches(
        &self,
        versions: &Versions,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Result<Option<Arc<Version>>, Status> {
        let Some(version) = self.version(attributes, object) else { return Ok(None) };
        if !self.selects_object(attributes, object)
            || !self.selects_namespace(versions, attributes, object)?
        {
            return Ok(None);
        }
        Ok(Some(version))
    }

    fn selects_namespace(
        &self,
        versions: &Versions,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Result<bool, Status> {
        if self.namespaces.is_empty() {
            return Ok(true);
        }
        if attributes.is_namespace() {
            let shown = attributes.new_object(object);
            let shown = if shown.is_null() { object } else { shown };
            return Ok(self.namespaces.matches(meta::labels(shown)));
        }
        // The namespace selector does not restrict cluster-scoped objects.
        let name = attributes.target.namespace;
        if name.is_empty() {
            return Ok(true);
        }
        let found = versions.reader().stored_object("", "namespaces", "", name);
        let found = found.ok_or_else(|| {
            Status::not_found(machinery::status::GroupResource { group: "", resource: "namespaces" }, name)
        })?;
        Ok(self.namespaces.matches(meta::labels(&found)))
    }
}
