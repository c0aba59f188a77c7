//! What a Redfish service says about an error.

use serde_json::Value;

/// How much of a text that is not JSON is shown.
const EXCERPT: usize = 200;

/// The messages of an answer: those of `@Message.ExtendedInfo`, or else the general one (Redfish specification, "Error responses").
pub(crate) fn message(body: &Value) -> String {
    let error = &body["error"];
    let extended = [&error["@Message.ExtendedInfo"], &body["@Message.ExtendedInfo"]];
    let mut texts: Vec<String> = Vec::new();
    for entry in extended.iter().flat_map(|list| entries(list)) {
        let text = entry["Message"].as_str().or(entry["MessageId"].as_str()).unwrap_or_default().trim();
        if !text.is_empty() && !texts.iter().any(|known| known == text) {
            texts.push(text.to_owned());
        }
    }
    if texts.is_empty() {
        let general = error["message"].as_str().or(error["code"].as_str()).or(error.as_str());
        texts.extend(general.map(|text| text.trim().to_owned()));
    }
    if texts.is_empty() { "no message".to_owned() } else { texts.join("; ") }
}

/// A list, or the one entry that some services send in its place.
fn entries(list: &Value) -> Vec<&Value> {
    match list {
        Value::Array(entries) => entries.iter().collect(),
        Value::Object(_) => vec![list],
        _ => Vec::new(),
    }
}

/// Whether an error names a parameter that is missing or wrong.
pub(crate) fn names(body: &Value, parameter: &str) -> bool {
    body.to_string().contains(parameter)
}

/// The beginning of a body that is not JSON, in one line.
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
                "Not so.; iLO.2.14.B",
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
