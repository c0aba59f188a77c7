//! JSON errors with the messages of Go's decoder.

/// Returns the message of Go's decoder for text that is not a JSON object.
pub fn json_error(bytes: &[u8]) -> String {
    match bytes.first() {
        None => "unexpected end of JSON input".into(),
        Some(b'n') => {
            let literal = b"null";
            let good = bytes.iter().zip(literal).take_while(|(a, b)| a == b).count();
            let found = bytes.get(good).copied().map_or('\0', char::from);
            let wanted = literal.get(good).copied().map_or('\0', char::from);
            format!("invalid character '{found}' in literal null (expecting '{wanted}')")
        }
        Some(byte) => {
            let shown: String = char::from(*byte).escape_default().collect();
            let shown = if byte.is_ascii() { shown } else { format!("\\u{byte:04x}") };
            format!("invalid character '{shown}' looking for beginning of value")
        }
    }
}
