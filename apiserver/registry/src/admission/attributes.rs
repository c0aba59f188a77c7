//! The attributes of a request that webhooks and policies match and evaluate.

use cel::program::{Asker, Decider};
use kinds::Subresource;
use kinds::definition::Version;
use kinds::user::{SERVICE_ACCOUNT_PREFIX, service_account_groups};
use machinery::meta;
use machinery::status::Status;
use serde_json::{Value, json};

use super::review::Operation;
use crate::context::{Context, Propagation};
use crate::permissions::{Permissions, Resource, Subject};
use crate::target::Target;
use crate::versions::current::Versions;

/// One write that admission is asked about.
pub(crate) struct Attributes<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) operation: Operation,
    /// The object before the write; `None` for a creation.
    pub(crate) old: Option<&'a Value>,
    pub(crate) user: kinds::User,
    pub(crate) dry_run: bool,
    manager: String,
    propagation: Option<Propagation>,
    permissions: Permissions,
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
            propagation: context.propagation,
            permissions: context.permissions.clone(),
        }
    }

    /// Returns `CREATE`, `UPDATE` or `DELETE`.
    pub(crate) fn operation_name(&self) -> &'static str {
        match self.operation {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        }
    }

    /// Returns the object to be written, or null for a deletion.
    pub(crate) fn new_object<'v>(&self, object: &'v Value) -> &'v Value {
        if self.operation == Operation::Delete { &Value::Null } else { object }
    }

    /// Returns the `AdmissionRequest` for `version`, without the objects.
    pub(crate) fn request(&self, version: &Version, object: &Value) -> Value {
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
            ("namespace", self.namespace_of(object)),
        ];
        for (field, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[field] = text.into();
        }
        request
    }

    /// Returns the namespace of the object. For a Namespace this is its own name.
    pub(crate) fn namespace(&self) -> &str {
        if self.is_namespace() { self.target.name } else { self.target.namespace }
    }

    /// Like [`Self::namespace`], also for a Namespace that is being created, whose name is in `object` only.
    pub(crate) fn namespace_of<'v>(&'v self, object: &'v Value) -> &'v str {
        let known = self.namespace();
        if known.is_empty() && self.is_namespace() { meta::name(object) } else { known }
    }

    pub(crate) fn is_namespace(&self) -> bool {
        let definition = &self.target.served.definition;
        definition.group.is_empty() && definition.plural == "namespaces"
    }

    /// Returns the Namespace of the object, without the fields that expressions do not see: null for an object that is in none, and `None`
    /// if it does not exist.
    pub(crate) fn namespace_object(&self, versions: &Versions) -> Option<Value> {
        if self.target.namespace.is_empty() {
            return Some(Value::Null);
        }
        let mut found = versions.reader().stored_object("", "namespaces", "", self.target.namespace)?;
        if let Some(metadata) = found["metadata"].as_object_mut() {
            let hidden = ["managedFields", "ownerReferences", "selfLink"];
            metadata.retain(|field, _| !hidden.contains(&field.as_str()));
        }
        Some(found)
    }

    /// Returns the refusal by policies: 403 with the first message as its own, and all as causes.
    pub(crate) fn denied(&self, object: &Value, messages: &[String]) -> Status {
        let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
        let given = [self.target.name, meta::name(object), prefix];
        let name = given.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let first = messages.first().map(String::as_str).unwrap_or_default();
        let mut status = Status::forbidden(self.target.served.resource(), name, first);
        if let Some(Value::Object(details)) = &mut status.details {
            let causes: Vec<Value> = messages.iter().map(|message| json!({"message": message})).collect();
            details.insert("causes".into(), causes.into());
        }
        status
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
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = propagation.name().into();
        }
        options
    }
}

/// What expressions ask `authorizer` is asked for the user of the request, or for a ServiceAccount.
impl Decider for Attributes<'_> {
    fn decide(&self, asker: &Asker, verb: &str, subject: &Subject) -> (bool, String) {
        match asker {
            Asker::User => self.permissions.permits(&self.user, verb, subject),
            Asker::ServiceAccount { namespace, name } => {
                let user = kinds::User {
                    name: format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"),
                    groups: service_account_groups(namespace),
                    ..kinds::User::default()
                };
                self.permissions.permits(&user, verb, subject)
            }
        }
    }

    fn request_resource(&self) -> Resource {
        let definition = &self.target.served.definition;
        Resource {
            group: definition.group.clone(),
            resource: definition.plural.clone(),
            subresource: self.target.subresource.name().to_owned(),
            namespace: self.namespace().to_owned(),
            name: self.target.name.to_owned(),
        }
    }
}
