//! The paths of a resource and their operations.

use kinds::definition::{Definition, Version};
use serde_json::{Map, Value, json};

use super::schemas::{self, PREFIX};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// A resource with the names that its operations use.
struct Resource<'a> {
    definition: &'a Definition,
    version: &'a Version,
    /// Name of the object's schema.
    schema: String,
    /// Name of the list's schema.
    list: String,
    /// Group and version in operation IDs, for example `OasGoldenTestV1`.
    group: String,
    tag: String,
}

/// Adds the paths of one resource.
pub(crate) fn add(definition: &Definition, version: &Version, paths: &mut Map<String, Value>) {
    if definition.verbs.is_empty() {
        return;
    }
    let resource = Resource::new(definition, version);
    let root = if definition.group.is_empty() {
        format!("/api/{}", version.name)
    } else {
        format!("/apis/{}/{}", definition.group, version.name)
    };
    let plural = &definition.plural;
    let collection = if definition.namespaced {
        if definition.is_stored() {
            paths.insert(format!("{root}/{plural}"), resource.across_namespaces());
        }
        format!("{root}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{root}/{plural}")
    };
    let object = format!("{collection}/{{name}}");
    let mut operations = resource.collection();
    if !definition.is_stored() {
        if let Some(operations) = operations.as_object_mut() {
            operations.retain(|key, _| matches!(key.as_str(), "parameters" | "post"));
        }
        paths.insert(collection, operations);
        return;
    }
    paths.insert(collection, operations);
    if version.status {
        paths.insert(format!("{object}/status"), resource.part("Status", &resource.schema));
    }
    if version.scale.is_some() {
        paths.insert(format!("{object}/scale"), resource.part("Scale", SCALE));
    }
    for part in version.parts {
        paths.insert(
            format!("{object}/{}", part.name()),
            resource.part(&capital(part.name()), &resource.schema),
        );
    }
    paths.insert(object, resource.object());
}

impl<'a> Resource<'a> {
    fn new(definition: &'a Definition, version: &'a Version) -> Self {
        let group = match definition.group.as_str() {
            "" => "core",
            group if definition.built_in => group.split('.').next().unwrap_or(group),
            group => group,
        };
        let camel: String = group.split(['.', '-']).map(capital).collect();
        let mut first = camel.chars();
        let lower: String = first.next().map(|c| c.to_ascii_lowercase()).into_iter().chain(first).collect();
        Self {
            definition,
            version,
            schema: schemas::name(definition, &version.name, &definition.kind),
            list: schemas::name(definition, &version.name, &definition.list_kind),
            group: format!("{camel}{}", capital(&version.name)),
            tag: format!("{lower}_{}", version.name),
        }
    }

    fn operation(&self, id: &str, action: &str, description: String, rest: Value) -> Value {
        let mut operation = json!({
            "description": description, "operationId": id, "tags": [self.tag],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": self.definition.group, "kind": self.definition.kind, "version": self.version.name,
            },
        });
        if let (Value::Object(operation), Value::Object(rest)) = (&mut operation, rest) {
            operation.extend(rest);
        }
        operation
    }

    /// Returns an operation ID, for example `deleteOasGoldenTestV1NamespacedDoc`.
    fn id(&self, verb: &str, infix: &str, suffix: &str) -> String {
        let scope = if self.definition.namespaced { "Namespaced" } else { "" };
        format!("{verb}{}{infix}{scope}{}{suffix}", self.group, self.definition.kind)
    }

    fn across_namespaces(&self) -> Value {
        let mut parameters = list_parameters();
        parameters.push(pretty());
        parameters.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
        let id = format!("list{}{}ForAllNamespaces", self.group, self.definition.kind);
        let about = format!("list objects of kind {}", self.definition.kind);
        let rest = json!({"responses": responses(&[("200", "OK", &self.list)])});
        json!({"parameters": parameters, "get": self.operation(&id, "list", about, rest)})
    }

    fn collection(&self) -> Value {
        let kind = &self.definition.kind;
        let body = body(&self.schema);
        let schema = self.schema.as_str();
        let written = [("200", "OK", schema), ("201", "Created", schema), ("202", "Accepted", schema)];
        let post = json!({
            "parameters": write_parameters(false), "requestBody": body, "responses": responses(&written),
        });
        let get =
            json!({"parameters": list_parameters(), "responses": responses(&[("200", "OK", &self.list)])});
        let status = format!("{META}.Status");
        let delete =
            json!({"parameters": list_parameters(), "responses": responses(&[("200", "OK", &status)])});
        json!({
            "parameters": self.path_parameters(false),
            "get": self.operation(&self.id("list", "", ""), "list", format!("list objects of kind {kind}"), get),
            "post": self.operation(&self.id("create", "", ""), "post", format!("create a {kind}"), post),
            "delete": self.operation(
                &self.id("delete", "Collection", ""), "deletecollection", format!("delete collection of {kind}"), delete),
        })
    }

    fn object(&self) -> Value {
        let kind = &self.definition.kind;
        let mut item = self.part("", &self.schema);
        let options = body(&format!("{META}.DeleteOptions"));
        let options = json!({"content": options["content"]});
        let status = format!("{META}.Status");
        let delete = json!({
            "parameters": delete_parameters(), "requestBody": options,
            "responses": responses(&[("200", "OK", &status), ("202", "Accepted", &status)]),
        });
        item["delete"] =
            self.operation(&self.id("delete", "", ""), "delete", format!("delete a {kind}"), delete);
        item
    }

    /// Returns the path item of the object itself, or of a subresource with this schema.
    fn part(&self, suffix: &str, schema: &str) -> Value {
        let kind = &self.definition.kind;
        let what = if suffix.is_empty() {
            format!("the specified {kind}")
        } else {
            format!("{} of the specified {kind}", suffix.to_lowercase())
        };
        let version =
            parameter("resourceVersion", "string", "Which revision to read; the newest when empty.");
        let get = json!({"parameters": [version], "responses": responses(&[("200", "OK", schema)])});
        let put = json!({
            "parameters": write_parameters(false), "requestBody": body(schema),
            "responses": responses(&[("200", "OK", schema), ("201", "Created", schema)]),
        });
        let patch = json!({
            "parameters": write_parameters(true), "requestBody": self.patch_body(),
            "responses": responses(&[("200", "OK", schema)]),
        });
        json!({
            "parameters": self.path_parameters(true),
            "get": self.operation(&self.id("read", "", suffix), "get", format!("read {what}"), get),
            "put": self.operation(&self.id("replace", "", suffix), "put", format!("replace {what}"), put),
            "patch": self.operation(&self.id("patch", "", suffix), "patch", format!("partially update {what}"), patch),
        })
    }

    fn patch_body(&self) -> Value {
        let mut types = vec![
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
        ];
        if self.definition.built_in {
            types.push("application/strategic-merge-patch+json");
        }
        let schema = json!({"schema": {"$ref": format!("{PREFIX}{META}.Patch")}});
        let content: Map<String, Value> =
            types.into_iter().map(|one| (one.to_owned(), schema.clone())).collect();
        json!({"content": content, "required": true})
    }

    fn path_parameters(&self, named: bool) -> Value {
        let mut parameters = Vec::new();
        if named {
            parameters.push(in_path("name", &format!("name of the {}", self.definition.kind)));
        }
        if self.definition.namespaced {
            parameters.push(in_path("namespace", "The namespace of the objects."));
        }
        parameters.push(pretty());
        parameters.into()
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(characters).collect()
}

fn parameter(name: &str, kind: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "query", "description": description, "schema": {"type": kind, "uniqueItems": true},
    })
}

fn in_path(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": {"type": "string", "uniqueItems": true},
    })
}

fn pretty() -> Value {
    parameter("pretty", "string", "If 'true', the answer is indented.")
}

fn dry_run() -> Value {
    parameter("dryRun", "string", "`All`: go through everything but store nothing.")
}

fn write_parameters(patch: bool) -> Value {
    let manager =
        "Who owns the fields that this request sets. Required for apply, else the user agent is taken.";
    let validation = "What happens to unknown and duplicate fields: Ignore, Warn (the default) or Strict.";
    let force = "Apply only: take over fields of other managers where they conflict.";
    let mut parameters = vec![
        dry_run(),
        parameter("fieldManager", "string", manager),
        parameter("fieldValidation", "string", validation),
    ];
    if patch {
        parameters.push(parameter("force", "boolean", force));
    }
    parameters.into()
}

fn delete_parameters() -> Value {
    let unsafely = "ignoreStoreReadErrorWithClusterBreakingPotential";
    json!([
        dry_run(),
        parameter("gracePeriodSeconds", "integer", "Seconds that the object may take to end. 0: at once."),
        parameter(unsafely, "boolean", "Delete an object that can't be read from the store."),
        parameter("orphanDependents", "boolean", "The older way to say `propagationPolicy=Orphan`."),
        parameter("propagationPolicy", "string", "Background, Foreground or Orphan."),
    ])
}

fn list_parameters() -> Vec<Value> {
    vec![
        parameter("allowWatchBookmarks", "boolean", "Watch: send bookmarks too."),
        parameter("continue", "string", "The token of the previous page."),
        parameter("fieldSelector", "string", "Select by fields."),
        parameter("labelSelector", "string", "Select by labels."),
        parameter("limit", "integer", "Objects of a page; no limit when absent."),
        parameter("resourceVersion", "string", "The revision to list or to watch from."),
        parameter("resourceVersionMatch", "string", "How resourceVersion is matched: Exact or NotOlderThan."),
        parameter("sendInitialEvents", "boolean", "Watch: begin with the objects that exist."),
        parameter("shardSelector", "string", "Select a shard of the collection."),
        parameter("timeoutSeconds", "integer", "End the request after so many seconds."),
        parameter("watch", "boolean", "Stream changes instead of listing."),
    ]
}

fn content(schema: &str) -> Value {
    let schema = json!({"schema": {"$ref": format!("{PREFIX}{schema}")}});
    json!({"application/json": schema, "application/yaml": schema})
}

fn body(schema: &str) -> Value {
    json!({"content": content(schema), "required": true})
}

fn responses(answers: &[(&str, &str, &str)]) -> Value {
    let mut responses = json!({"401": {"description": "Unauthorized"}});
    for (code, description, schema) in answers {
        responses[*code] = json!({"description": description, "content": content(schema)});
    }
    responses
}
