//! The messages in a service's error response.

use serde_json::Value;

/// The number of characters that are shown of a text that is not JSON.
const EXCERPT: usize = 200;

/// Returns the messages of a response: those of `@Message.ExtendedInfo`, or else the general one (Redfish specification, "Error
/// responses").
pub(crate) fn message(body: &Value) -> String {
    let error = &body["error"];
    let extended = [&error["@Message.ExtendedInfo"], &body["@Message.ExtendedInfo"]];
    let entries: Vec<&Value> = extended.iter().flat_map(|list| entries(list)).collect();
    let named = |name: &str| {
        let mut texts: Vec<&str> = Vec::new();
        for text in entries.iter().filter_map(|entry| entry[name].as_str()).map(str::trim) {
            if !text.is_empty() && !texts.contains(&text) {
                texts.push(text);
            }
        }
        (!texts.is_empty()).then(|| texts.join("; "))
    };
    let general = |name: &str| error[name].as_str().map(|text| text.trim().to_owned());
    named("Message")
        .or_else(|| general("message").filter(|text| !text.contains("ExtendedInfo")))
        .or_else(|| named("MessageId"))
        .or_else(|| general("code"))
        .or_else(|| error.as_str().map(str::to_owned))
        .unwrap_or_else(|| "no message".to_owned())
}

/// Returns the entries of a list; some services send a single entry instead of a list.
fn entries(list: &Value) -> Vec<&Value> {
    match list {
        Value::Array(entries) => entries.iter().collect(),
        Value::Object(_) => vec![list],
        _ => Vec::new(),
    }
}

/// Returns whether an error mentions a parameter.
pub(crate) fn names(body: &Value, parameter: &str) -> bool {
    body.to_string().contains(parameter)
}

/// Returns the beginning of a body that is not JSON, on one line.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "no message".to_owned(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages() {
        let extended = |entries: Value| json!({"error": {"code": "Base.1.8.GeneralError", "message": "General error.", "@Message.ExtendedInfo": entries}});
        for (body, expected) in [
            (
                extended(
                    json!([{"MessageId": "Base.1.8.A", "Message": "Not so. "}, {"Message": "Not so."}, {"MessageId": "iLO.2.14.B"}]),
                ),
                "Not so.",
            ),
            // The format of sushy-tools.
            (extended(json!([{"MessageId": "Base.1.0.GeneralError"}])), "General error."),
            // The format of iLO 5.
            (
                json!({"error": {"message": "See @Message.ExtendedInfo for more information.", "@Message.ExtendedInfo": [{"MessageId": "iLO.2.14.B"}]}}),
                "iLO.2.14.B",
            ),
            (extended(json!({"Message": "One."})), "One."),
            (extended(json!([])), "General error."),
            (json!({"@Message.ExtendedInfo": [{"Message": "On top."}]}), "On top."),
            (json!({"error": "a text"}), "a text"),
            (json!([1, {"error": []}]), "no message"),
            (Value::Null, "no message"),
        ] {
            assert_eq!(message(&body), expected, "{body}");
        }
    }

    #[test]
    fn excerpts() {
        assert_eq!(excerpt(b"<html>\n  <b>busy</b>"), "<html> <b>busy</b>");
        assert_eq!(excerpt("é".repeat(300).as_bytes()).chars().count(), EXCERPT + 1);
        assert_eq!(excerpt(b"\xff "), "\u{fffd}");
        assert_eq!(excerpt(b""), "no message");
    }
}
