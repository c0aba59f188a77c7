//! Answers in `application/vnd.kubernetes.protobuf`.

use bytes::Bytes;
use prost::Message;
use serde_json::Value;

/// What stands before every message.
const MAGIC: &[u8] = b"k8s\0";

#[derive(Clone, PartialEq, Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

/// `runtime.Unknown`
#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
    #[prost(string, tag = "3")]
    content_encoding: String,
    #[prost(string, tag = "4")]
    content_type: String,
}

#[derive(Clone, PartialEq, Message)]
struct ListMeta {}

#[derive(Clone, PartialEq, Message)]
struct StatusCause {
    #[prost(string, optional, tag = "1")]
    reason: Option<String>,
    #[prost(string, optional, tag = "2")]
    message: Option<String>,
    #[prost(string, optional, tag = "3")]
    field: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct StatusDetails {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    group: Option<String>,
    #[prost(string, optional, tag = "3")]
    kind: Option<String>,
    #[prost(message, repeated, tag = "4")]
    causes: Vec<StatusCause>,
    #[prost(int32, optional, tag = "5")]
    retry_after_seconds: Option<i32>,
    #[prost(string, optional, tag = "6")]
    uid: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct StatusMessage {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ListMeta>,
    #[prost(string, optional, tag = "2")]
    status: Option<String>,
    #[prost(string, optional, tag = "3")]
    message: Option<String>,
    #[prost(string, optional, tag = "4")]
    reason: Option<String>,
    #[prost(message, optional, tag = "5")]
    details: Option<StatusDetails>,
    #[prost(int32, optional, tag = "6")]
    code: Option<i32>,
}

/// An object, a list or a `Status` as protobuf; empty for a kind that is not offered so.
pub(crate) fn object(object: &Value) -> Vec<u8> {
    if object["kind"] == "Status" {
        return status(object).to_vec();
    }
    machinery::protobuf::encode(object).unwrap_or_default()
}

/// A `Status` object as protobuf.
pub(crate) fn status(status: &Value) -> Bytes {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let details = &status["details"];
    let causes = details["causes"].as_array().into_iter().flatten().map(|cause| StatusCause {
        reason: text(&cause["reason"]),
        message: text(&cause["message"]),
        field: text(&cause["field"]),
    });
    let message = StatusMessage {
        metadata: Some(ListMeta {}),
        status: text(&status["status"]),
        message: text(&status["message"]),
        reason: text(&status["reason"]),
        details: details.is_object().then(|| StatusDetails {
            name: text(&details["name"]),
            group: text(&details["group"]),
            kind: text(&details["kind"]),
            causes: causes.collect(),
            retry_after_seconds: details["retryAfterSeconds"].as_i64().and_then(|n| i32::try_from(n).ok()),
            uid: text(&details["uid"]),
        }),
        code: status["code"].as_i64().and_then(|code| i32::try_from(code).ok()),
    };
    envelope("v1", "Status", &message.encode_to_vec())
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Bytes {
    let unknown = Unknown {
        type_meta: Some(TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() }),
        raw: raw.to_vec(),
        ..Unknown::default()
    };
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&unknown.encode_to_vec());
    Bytes::from(bytes)
}
