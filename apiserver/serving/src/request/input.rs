//! Decoding of request bodies.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use machinery::decode;
use machinery::status::Status;
use registry::{Input, Served};
use serde_json::Value;

use crate::limits;
use crate::response::negotiate::ACCEPTED;

/// The format of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
    Protobuf,
}

/// Returns the media type without parameters; empty if there is none.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// Returns the format that the content type names; JSON if there is none.
///
/// # Errors
/// 415 for any other content type.
pub(crate) fn format(headers: &HeaderMap) -> Result<Format, Status> {
    match content_type(headers) {
        "" | "application/json" => Ok(Format::Json),
        "application/yaml" => Ok(Format::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Format::Protobuf),
        _ => Err(Status::unsupported_media_type(ACCEPTED)),
    }
}

/// The object that the body should contain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    /// Expected `apiVersion`, for example `apps/v1` or `v1`.
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    /// Whether the kind is built in; its body may omit apiVersion and kind, and its errors are worded
    /// differently.
    pub(crate) built_in: bool,
    /// Whether unknown fields are checked; this changes the error for a missing kind.
    pub(crate) strict: bool,
}

/// Decodes the body of a create or an update, and checks apiVersion and kind.
///
/// # Errors
/// 400 with kube-apiserver's messages.
pub(crate) fn object(
    body: &[u8],
    format: Format,
    expected: Expected<'_>,
    is_kind: impl Fn(&str, &str) -> bool,
) -> Result<Input, Status> {
    let mut input = document(body, format, expected).map_err(|why| unrecognized(&why, expected, body))?;
    if input.object.is_null() {
        // Go decodes null as an object without fields.
        input.object = Value::Object(serde_json::Map::new());
    }
    if !input.object.is_object() {
        let found = go_type(&input.object);
        let why = format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {GO_TYPE_META}"
        );
        return Err(unrecognized(&why, expected, body));
    }
    if let Some(why) = header_mismatch(&input.object) {
        let why = format!("couldn't get version/kind; json parse error: {why}");
        return Err(unrecognized(&why, expected, body));
    }
    let Value::Object(fields) = &mut input.object else { return Ok(input) };
    if expected.built_in {
        for (field, default) in [("apiVersion", expected.api_version), ("kind", expected.kind)] {
            let value = fields.entry(field).or_insert(Value::Null);
            if value.as_str().unwrap_or_default().is_empty() {
                *value = default.into();
            }
        }
    }
    let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    check_kind(&text("apiVersion"), &text("kind"), expected, body, &input.object, is_kind)?;
    Ok(input)
}

const GO_TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

fn document(body: &[u8], format: Format, expected: Expected<'_>) -> Result<Input, String> {
    let decoded = match format {
        Format::Json => {
            decode::json(body).map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))?
        }
        Format::Yaml => decode::yaml(body)?,
        Format::Protobuf => {
            let default = Some((expected.api_version, expected.kind));
            return kinds::protobuf::decode(body, default).map(Input::new);
        }
    };
    // All problems of a YAML body are one error with several lines.
    let strict_errors = match decoded.format {
        decode::Format::Json => decoded.problems,
        decode::Format::Yaml => decoded.strict_error().into_iter().collect(),
    };
    Ok(Input { object: decoded.value, strict_errors })
}

fn check_kind(
    api_version: &str,
    kind: &str,
    expected: Expected<'_>,
    body: &[u8],
    object: &Value,
    is_kind: impl Fn(&str, &str) -> bool,
) -> Result<(), Status> {
    if !expected.built_in {
        if kind.is_empty() {
            let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
            return Err(if expected.strict {
                unrecognized(&why, expected, body)
            } else {
                unfit(&why, expected)
            });
        }
        if object.get("apiVersion") == Some(&Value::Null) {
            let why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string";
            return Err(unfit(why, Expected { api_version: "/", ..expected }));
        }
        if api_version.matches('/').count() > 1 {
            let why = format!("unexpected GroupVersion string: {api_version}");
            return Err(unrecognized(&why, expected, body));
        }
        return Ok(());
    }
    // The caller reports a differing version.
    if (api_version, kind) == (expected.api_version, expected.kind)
        || kind == expected.kind && crate::request::older::has(api_version, kind)
    {
        return Ok(());
    }
    if api_version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {api_version}");
        return Err(unrecognized(&why, expected, body));
    }
    let (group, version) = machinery::meta::group_version(api_version);
    let of_all_groups =
        api_version == "v1" && (OF_ALL_GROUPS.contains(&kind) || matches!(kind, "DeleteOptions" | "List"));
    // CustomResourceDefinitions have a scheme of their own.
    let is_kind = |kind: &str| is_kind(api_version, kind);
    let known = is_kind(kind) || kind.strip_suffix("List").is_some_and(is_kind);
    let known = known && expected.kind != "CustomResourceDefinition";
    let (expected_group, _) = machinery::meta::group_version(expected.api_version);
    let why = if known || of_all_groups {
        if (group, kind) == (expected_group, expected.kind) {
            return Ok(());
        }
        let package = match expected_group.split('.').next().unwrap_or_default() {
            "" => "core",
            "rbac" => "rbac",
            package => package,
        };
        format!("converting ({version}.{kind}) to ({package}.{}): unknown conversion", expected.kind)
    } else {
        let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
        format!("no kind {kind:?} is registered for version {api_version:?} {scheme}")
    };
    Err(Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {}: {why}",
        expected.kind
    )))
}

/// Returns 400 for a body that was decoded but is not an object of the kind.
fn unfit(why: &str, expected: Expected<'_>) -> Status {
    let (kind, (_, version)) = (expected.kind, machinery::meta::group_version(expected.api_version));
    Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

fn unrecognized(why: &str, expected: Expected<'_>, body: &[u8]) -> Status {
    let (kind, summary) = (expected.kind, summary(body));
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
    ))
}

/// Returns the beginning of a body as errors show it; hexadecimal if it is not a JSON object.
fn summary(body: &[u8]) -> String {
    let (shown, more) = match body.get(..limits::BODY_SUMMARY_BYTES) {
        Some(shown) if body.len() > limits::BODY_SUMMARY_BYTES => (shown, " ..."),
        _ => (body, ""),
    };
    match shown.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

/// Returns Go's name for the type of a JSON value.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Kinds of `v1` that exist in every group.
const OF_ALL_GROUPS: [&str; 5] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];

/// Decodes the `DeleteOptions` in the body of a deletion; `None` for an empty body.
///
/// # Errors
/// 400 for an invalid body, 415 for an unsupported content type.
pub(crate) fn delete_options(
    body: &[u8],
    headers: &HeaderMap,
    served: &Served,
) -> Result<Option<Value>, Status> {
    if body.is_empty() {
        return Ok(None);
    }
    let version = if served.definition.built_in { "v1" } else { "meta.k8s.io/v1" };
    let expected = Expected { api_version: version, kind: "DeleteOptions", built_in: true, strict: false };
    let input = document(body, format(headers)?, expected).map_err(Status::bad_request)?;
    if input.object.is_null() {
        return Ok(None);
    }
    if !input.object.is_object() {
        let found = go_type(&input.object);
        return Err(Status::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {GO_TYPE_META}"
        )));
    }
    let mut options = input.object;
    if let Some(why) = header_mismatch(&options) {
        return Err(Status::bad_request(format!("couldn't get version/kind; json parse error: {why}")));
    }
    let (api_version, kind) = (machinery::meta::api_version(&options), machinery::meta::kind(&options));
    if !matches!(kind, "" | "DeleteOptions") {
        let api_version = if api_version.is_empty() { version } else { api_version };
        if api_version == "v1" && OF_ALL_GROUPS.contains(&kind) {
            let why = format!("converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion");
            return Err(Status::bad_request(why));
        }
        return Err(Status::bad_request(format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    kinds::decode::check_delete_options(&mut options).map_err(Status::bad_request)?;
    Ok(Some(options))
}

/// Returns Go's error for an apiVersion or kind that is not a string.
fn header_mismatch(object: &Value) -> Option<String> {
    ["apiVersion", "kind"].into_iter().find_map(|field| {
        let value = object.get(field).filter(|value| !value.is_string() && !value.is_null())?;
        let found = go_type(value);
        Some(format!("json: cannot unmarshal {found} into Go struct field .{field} of type string"))
    })
}

/// Returns whether a kind is defined in this version; used for error messages.
pub(crate) fn is_kind(definitions: &registry::Definitions, api_version: &str, kind: &str) -> bool {
    let (group, version) = machinery::meta::group_version(api_version);
    definitions.by_kind(group, kind).is_some_and(|definition| definition.version(version).is_some())
}

/// Returns the expected kind of the body of a write to `served`, for error messages.
pub(crate) fn expected<'a>(api_version: &'a str, served: &'a Served) -> Expected<'a> {
    let definition = &served.definition;
    Expected { api_version, kind: &definition.kind, built_in: definition.built_in, strict: true }
}
