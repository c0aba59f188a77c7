//! The messages in a service's error response.

use serde_json::Value;

/// The number of characters that are shown of a message.
pub const LONGEST: usize = 500;
/// What is shown instead of an answer that no Redfish service gives. Whoever wrote the address may not be allowed to read the answer.
pub const FOREIGN: &str = "the answer is not that of a Redfish service";

/// Returns the messages of an error response, or that it is not one of a Redfish service.
pub fn refusal(body: &Value) -> String {
    if is_redfish(body) { message(body) } else { FOREIGN.to_owned() }
}

/// Returns whether a body is an error response of a Redfish service: it has messages in Redfish's annotation, or the code of a message in a
/// registry (`Base.1.8.GeneralError`).
fn is_redfish(body: &Value) -> bool {
    let error = &body["error"];
    let is_annotated = [error, body].iter().any(|value| value.get("@Message.ExtendedInfo").is_some());
    let is_code = |code: &str| {
        let parts: Vec<&str> = code.split('.').collect();
        matches!(parts.as_slice(), [registry, versions @ .., name] if !registry.is_empty() && !name.is_empty()
            && !versions.is_empty() && versions.iter().all(|part| part.parse::<u16>().is_ok()))
    };
    is_annotated || error["code"].as_str().is_some_and(is_code)
}

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
    let text = named("Message")
        .or_else(|| general("message").filter(|text| !text.contains("ExtendedInfo")))
        .or_else(|| named("MessageId"))
        .or_else(|| general("code"))
        .unwrap_or_else(|| "no message".to_owned());
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
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
