//! The fields of a CustomResourceDefinition with their Go types. Values of wrong types are an error, unknown fields are
//! dropped.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use machinery::decode::Problems;
use serde_json::{Value, json};

/// Checks the types below `spec` and `status`, removes unknown fields, and gives the rest the shape that decoding and
/// encoding in Go produces. Returns the paths of the unknown fields, sorted. `metadata` stays unchanged.
///
/// # Errors
/// The message of Go's decoder, without `CustomResourceDefinition in version "v1" cannot be handled as`.
pub fn decode(object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Problems::default();
    walk(object, "CustomResourceDefinition", "", "", &mut unknown)?;
    let mut unknown = unknown.into_paths();
    unknown.sort();
    Ok(unknown)
}

/// Go structs with their fields and Go types. `T*` marks a pointer, which is only omitted if it is null. `T!` marks a
/// field that is always encoded. All other fields are omitted if they are empty (`omitempty`).
const STRUCTS: [(&str, &str); 19] = [
    (
        "CustomResourceDefinition",
        "kind:any apiVersion:any metadata:any spec:CustomResourceDefinitionSpec! status:CustomResourceDefinitionStatus!",
    ),
    (
        "CustomResourceDefinitionSpec",
        "group:string! names:CustomResourceDefinitionNames! scope:v1.ResourceScope! versions:[]CustomResourceDefinitionVersion! conversion:CustomResourceConversion* preserveUnknownFields:bool",
    ),
    (
        "CustomResourceDefinitionNames",
        "plural:string! singular:string shortNames:[]string kind:string! listKind:string categories:[]string",
    ),
    (
        "CustomResourceDefinitionVersion",
        "name:string! served:bool! storage:bool! deprecated:bool deprecationWarning:string* schema:CustomResourceValidation* subresources:CustomResourceSubresources* additionalPrinterColumns:[]CustomResourceColumnDefinition selectableFields:[]SelectableField",
    ),
    ("CustomResourceValidation", "openAPIV3Schema:JSONSchemaProps*"),
    (
        "CustomResourceSubresources",
        "status:CustomResourceSubresourceStatus* scale:CustomResourceSubresourceScale*",
    ),
    ("CustomResourceSubresourceStatus", ""),
    (
        "CustomResourceSubresourceScale",
        "specReplicasPath:string! statusReplicasPath:string! labelSelectorPath:string*",
    ),
    (
        "CustomResourceColumnDefinition",
        "name:string! type:string! format:string description:string priority:int32 jsonPath:string!",
    ),
    ("SelectableField", "jsonPath:string!"),
    ("CustomResourceConversion", "strategy:v1.ConversionStrategyType! webhook:WebhookConversion*"),
    ("WebhookConversion", "clientConfig:WebhookClientConfig* conversionReviewVersions:[]string!"),
    ("WebhookClientConfig", "url:string* service:ServiceReference* caBundle:any"),
    ("ServiceReference", "namespace:string! name:string! path:string* port:int32*"),
    (
        "CustomResourceDefinitionStatus",
        "conditions:[]CustomResourceDefinitionCondition! acceptedNames:CustomResourceDefinitionNames! storedVersions:[]string! observedGeneration:int64",
    ),
    (
        "CustomResourceDefinitionCondition",
        "type:string! status:string! lastTransitionTime:any reason:string message:string observedGeneration:int64",
    ),
    (
        "ValidationRule",
        "rule:string! message:string messageExpression:string reason:string* fieldPath:string optionalOldSelf:bool*",
    ),
    ("ExternalDocumentation", "description:string url:string"),
    (
        "JSONSchemaProps",
        "id:string $schema:string $ref:string* description:string type:string format:string title:string default:any* maximum:float64* exclusiveMaximum:bool minimum:float64* exclusiveMinimum:bool maxLength:int64* minLength:int64* pattern:string maxItems:int64* minItems:int64* uniqueItems:bool multipleOf:float64* enum:[]any maxProperties:int64* minProperties:int64* required:[]string items:orArray* allOf:[]JSONSchemaProps oneOf:[]JSONSchemaProps anyOf:[]JSONSchemaProps not:JSONSchemaProps* properties:map[string]JSONSchemaProps additionalProperties:orBool* patternProperties:map[string]JSONSchemaProps dependencies:map[string]any additionalItems:orBool* definitions:map[string]JSONSchemaProps externalDocs:ExternalDocumentation* example:any* nullable:bool x-kubernetes-preserve-unknown-fields:bool* x-kubernetes-embedded-resource:bool x-kubernetes-int-or-string:bool x-kubernetes-list-map-keys:[]string x-kubernetes-list-type:string* x-kubernetes-map-type:string* x-kubernetes-validations:[]ValidationRule",
    ),
];

/// When Go encodes a field.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    OmitEmpty,
    Pointer,
    Always,
}

/// The fields of a Go struct, by name, with type and mark.
type Fields = BTreeMap<&'static str, (&'static str, Mark)>;

/// [`STRUCTS`] as a map, because each node of each schema needs a lookup.
static FIELDS: LazyLock<BTreeMap<&'static str, Fields>> = LazyLock::new(|| {
    let field = |field: &'static str| {
        let (name, marked) = field.rsplit_once(':')?;
        let mark = match marked.as_bytes().last() {
            Some(b'*') => Mark::Pointer,
            Some(b'!') => Mark::Always,
            _ => Mark::OmitEmpty,
        };
        Some((name, (marked.trim_end_matches(['*', '!']), mark)))
    };
    STRUCTS.iter().map(|(name, fields)| (*name, fields.split(' ').filter_map(field).collect())).collect()
});

fn fields(go_struct: &str) -> Option<&'static Fields> {
    FIELDS.get(go_struct)
}

fn is_struct(go_type: &str) -> bool {
    FIELDS.contains_key(go_type)
}

/// Decodes a struct. `path` is the path of the value (`spec.versions[0].name`), and `names` is its form in Go's errors
/// (`spec.versions.name`).
fn walk(
    value: &mut Value,
    go_struct: &str,
    path: &str,
    names: &str,
    unknown: &mut Problems,
) -> Result<(), String> {
    let (Some(fields), Some(map)) = (fields(go_struct), value.as_object_mut()) else { return Ok(()) };
    let mut gone = Vec::new();
    for (key, value) in map.iter_mut() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let Some((go_type, mark)) = fields.get(key.as_str()).copied() else {
            gone.push(key.clone());
            unknown.note(|| path);
            continue;
        };
        let names = if names.is_empty() { key.clone() } else { format!("{names}.{key}") };
        field(value, go_struct, go_type, &path, &names, unknown)?;
        let omitted = match mark {
            Mark::Pointer => value.is_null(),
            Mark::Always => false,
            Mark::OmitEmpty => is_empty(value),
        };
        if omitted && key != "metadata" {
            gone.push(key.clone());
        }
    }
    for key in gone {
        map.remove(&key);
    }
    for (name, (go_type, _)) in fields.iter().filter(|(_, (_, mark))| *mark == Mark::Always) {
        let value = map.entry(*name).or_insert(Value::Null);
        if value.is_null() {
            *value = zero(go_type);
            walk(value, go_type, path, names, unknown)?;
        }
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(true) => false,
    }
}

fn zero(go_type: &str) -> Value {
    match go_type {
        "bool" => false.into(),
        name if is_struct(name) => json!({}),
        name if name.starts_with("[]") => Value::Null,
        _ => "".into(),
    }
}

fn field(
    value: &mut Value,
    go_struct: &str,
    go_type: &str,
    path: &str,
    names: &str,
    unknown: &mut Problems,
) -> Result<(), String> {
    if value.is_null() || go_type == "any" {
        return Ok(());
    }
    let wrong = |found: &Value| {
        let shown = shown_type(go_type);
        Err(format!(
            "json: cannot unmarshal {} into Go struct field {go_struct}.{names} of type {shown}",
            json_type(found)
        ))
    };
    if let Some(item) = go_type.strip_prefix("[]") {
        let Some(list) = value.as_array_mut() else { return wrong(value) };
        for (i, element) in list.iter_mut().enumerate() {
            zero_for_null(element, item);
            field(element, go_struct, item, &format!("{path}[{i}]"), names, unknown)?;
        }
        return Ok(());
    }
    if let Some(item) = go_type.strip_prefix("map[string]") {
        let Some(map) = value.as_object_mut() else { return wrong(value) };
        for (key, element) in map.iter_mut() {
            zero_for_null(element, item);
            field(element, go_struct, item, &format!("{path}.{key}"), names, unknown)?;
        }
        return Ok(());
    }
    match go_type {
        "orBool" if value.is_boolean() => Ok(()),
        "orBool" | "orArray" if value.is_object() => walk(value, "JSONSchemaProps", path, names, unknown),
        "orArray" if value.is_array() => field(value, go_struct, "[]JSONSchemaProps", path, names, unknown),
        "orBool" => Err("boolean or JSON schema expected".into()),
        // The value is neither a schema nor a list of schemas. Go keeps an empty wrapper, which it encodes as null.
        "orArray" => {
            *value = Value::Null;
            Ok(())
        }
        "bool" if !value.is_boolean() => wrong(value),
        "int32" | "int64" if value.as_i64().is_none() && value.as_f64().is_none_or(|n| n.fract() != 0.0) => {
            wrong(value)
        }
        "float64" if !value.is_number() => wrong(value),
        "bool" | "int32" | "int64" | "float64" => Ok(()),
        go_type if is_struct(go_type) => match value.is_object() {
            true => walk(value, go_type, path, names, unknown),
            false => wrong(value),
        },
        _ if value.is_string() => Ok(()),
        _ => wrong(value),
    }
}

/// Replaces null by the zero value for types that are not pointers, as Go does.
fn zero_for_null(element: &mut Value, go_type: &str) {
    if element.is_null() && (is_struct(go_type) || go_type == "string") {
        *element = zero(go_type);
    }
}

fn shown_type(go_type: &str) -> String {
    if let Some(item) = go_type.strip_prefix("[]") {
        return format!("[]{}", shown_type(item));
    }
    if let Some(item) = go_type.strip_prefix("map[string]") {
        return format!("map[string]{}", shown_type(item));
    }
    match go_type {
        "any" => "v1.JSON".into(),
        name if is_struct(name) => format!("v1.{name}"),
        name => name.into(),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
