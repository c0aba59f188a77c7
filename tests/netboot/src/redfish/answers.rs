//! HTTP responses of the Redfish service.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

/// A response of the service.
pub(super) type Answer = Response<Full<Bytes>>;

/// Builds a response with a body.
pub(super) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().unwrap();
        answer.headers_mut().insert(name, value.parse().unwrap());
    }
    answer
}

/// Builds a JSON response.
pub(super) fn json(status: u16, headers: &[(&str, &str)], body: &Value) -> Answer {
    let mut all = vec![("content-type", "application/json"), ("odata-version", "4.0")];
    all.extend(headers);
    answer(status, &all, body.to_string())
}

/// Builds an error in Redfish's format.
pub(super) fn error(status: u16, message: &str) -> Answer {
    let entry = json!({"MessageId": "Base.1.8.GeneralError", "Message": message, "Severity": "Critical", "Resolution": "None."});
    let code = "Base.1.8.GeneralError";
    let general = "A general error has occurred. See ExtendedInfo for more information.";
    json(status, &[], &json!({"error": {"code": code, "message": general, "@Message.ExtendedInfo": [entry]}}))
}
