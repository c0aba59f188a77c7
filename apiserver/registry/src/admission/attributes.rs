//! What a request is, for those who match and judge it.

use machinery::meta;
use machinery::status::Status;
use serde_json::{Value, json};

use crate::context::{Context, Subresource};
use crate::definition::Version;
use crate::options::Operation;
use crate::registry::Registry;
use crate::write::Target;

/// One write on its way.
pub(crate) struct Attributes<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) operation: Operation,
    /// The object before; `None` when it is created.
    pub(crate) old: Option<&'a Value>,
    pub(crate) user: crate::context::User,
    pub(crate) dry_run: bool,
    manager: String,
}

/// One write, as it is shown in the version that somebody asked to see it in.
pub(super) struct Case {
    /// What is being written; null when it is deleted.
    pub(super) object: Value,
    /// The object before; null when it is created.
    pub(super) old: Value,
    /// `AdmissionRequest` without the objects.
    pub(super) request: Value,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(
        context: &Context,
        target: &Target<'a>,
        operation: Operation,
        old: Option<&'a Value>,
    ) -> Self {
        Self {
            target: *target,
            operation,
            old,
            user: context.user.clone(),
            dry_run: context.dry_run,
            manager: context.field_manager.clone(),
        }
    }

    /// `CREATE`, …
    pub(super) fn operation_name(&self) -> &'static str {
        match self.operation {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        }
    }

    /// What is being written; nothing when it is deleted.
    pub(super) fn new_object<'v>(&self, object: &'v Value) -> &'v Value {
        if self.operation == Operation::Delete { &Value::Null } else { object }
    }

    /// The object in another version of its resource, or its Scale.
    ///
    /// # Errors
    /// The conversion webhook's failure.
    pub(super) async fn shown(
        &self,
        registry: &Registry,
        object: &Value,
        version: &Version,
    ) -> Result<Value, Status> {
        if object.is_null() {
            return Ok(Value::Null);
        }
        let served = self.target.served;
        if self.target.subresource == Subresource::Scale {
            return Ok(crate::scale::view_or_null(served, object));
        }
        if version.name == served.version.name {
            return Ok(object.clone());
        }
        registry.in_version(&served.definition, version, object.clone()).await
    }

    /// What the request looks like in `version`.
    ///
    /// # Errors
    /// The conversion webhook's failure.
    pub(super) async fn case(
        &self,
        registry: &Registry,
        object: &Value,
        version: &Version,
    ) -> Result<Case, Status> {
        Ok(Case {
            object: self.shown(registry, self.new_object(object), version).await?,
            old: self.shown(registry, self.old.unwrap_or(&Value::Null), version).await?,
            request: self.request(version, object),
        })
    }

    /// `AdmissionRequest` without the objects, as it is asked of `version`.
    fn request(&self, version: &Version, object: &Value) -> Value {
        let served = self.target.served;
        let definition = &served.definition;
        let kind = |version: &str| match self.target.subresource {
            Subresource::Scale => json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}),
            _ => json!({"group": definition.group, "version": version, "kind": definition.kind}),
        };
        let resource = |version: &str| json!({"group": definition.group, "version": version, "resource": definition.plural});
        let mut user = json!({"username": self.user.name, "groups": self.user.groups});
        if !self.user.uid.is_empty() {
            user["uid"] = self.user.uid.as_str().into();
        }
        if !self.user.extra.is_empty() {
            user["extra"] = json!(self.user.extra);
        }
        let name = if self.target.name.is_empty() { meta::name(object) } else { self.target.name };
        let mut request = json!({
            "kind": kind(&version.name),
            "resource": resource(&version.name),
            "requestKind": kind(&served.version.name),
            "requestResource": resource(&served.version.name),
            "operation": self.operation_name(),
            "userInfo": user,
            "dryRun": self.dry_run,
            "options": self.options(),
        });
        let optional = [
            ("subResource", self.target.subresource.name()),
            ("requestSubResource", self.target.subresource.name()),
            ("name", name),
            ("namespace", self.namespace()),
        ];
        for (field, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[field] = text.into();
        }
        request
    }

    /// The namespace; that of a Namespace is itself.
    pub(super) fn namespace(&self) -> &str {
        if self.is_namespace() { self.target.name } else { self.target.namespace }
    }

    pub(super) fn is_namespace(&self) -> bool {
        let definition = &self.target.served.definition;
        definition.group.is_empty() && definition.plural == "namespaces"
    }

    fn options(&self) -> Value {
        let kind = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
        };
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        if !self.manager.is_empty() && self.operation != Operation::Delete {
            options["fieldManager"] = self.manager.as_str().into();
        }
        options
    }
}
