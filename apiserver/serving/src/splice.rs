//! Cuts fields out of JSON objects without parsing them.

use bytes::Bytes;

/// The top-level fields of a JSON object, as ranges of its text: `(key, from the key's quote, to the end of the value)`.
/// `None` when the text is no JSON object. Values are skipped, not checked.
pub(crate) fn fields(text: &[u8]) -> Option<Vec<(&[u8], usize, usize)>> {
    let mut found = Vec::with_capacity(8);
    let mut at = skip_space(text, 0);
    if text.get(at) != Some(&b'{') {
        return None;
    }
    at = skip_space(text, at + 1);
    while text.get(at) == Some(&b'"') {
        let start = at;
        at = skip_string(text, at)?;
        let key = text.get(start + 1..at - 1)?;
        at = skip_space(text, at);
        if text.get(at) != Some(&b':') {
            return None;
        }
        at = skip_value(text, skip_space(text, at + 1))?;
        found.push((key, start, at));
        at = skip_space(text, at);
        match text.get(at) {
            Some(b',') => at = skip_space(text, at + 1),
            Some(b'}') => return Some(found),
            _ => return None,
        }
    }
    (text.get(at) == Some(&b'}')).then_some(found)
}

/// The text of one field's value.
pub(crate) fn value(text: &Bytes, key: &str) -> Option<Bytes> {
    let fields = fields(text)?;
    let (_, start, end) = fields.into_iter().find(|(one, _, _)| *one == key.as_bytes())?;
    // Key, quotes and colon; stored objects have no spaces, others may.
    let from = text.get(start + key.len() + 2..end)?;
    let colon = from.iter().position(|byte| *byte == b':')?;
    let from = skip_space(text, start + key.len() + 2 + colon + 1);
    Some(text.slice(from..end))
}

/// The pieces of an object without its `apiVersion` and `kind`, as typed lists hold their items.
pub(crate) fn without_type(text: &Bytes, pieces: &mut Vec<Bytes>) {
    let Some(fields) = fields(text) else {
        pieces.push(text.clone());
        return;
    };
    let kept: Vec<(usize, usize)> = fields
        .iter()
        .filter(|(key, _, _)| *key != b"apiVersion" && *key != b"kind")
        .map(|(_, start, end)| (*start, *end))
        .collect();
    pieces.push(Bytes::from_static(b"{"));
    let mut next = 0;
    while let Some((start, mut end)) = kept.get(next).copied() {
        // Neighbours that only a comma parts stay together.
        while let Some((following, its_end)) = kept.get(next + 1).copied().filter(|(s, _)| *s == end + 1) {
            debug_assert!(following > end);
            end = its_end;
            next += 1;
        }
        if start > 0 && pieces.last().is_some_and(|last| last.as_ref() != b"{") {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(text.slice(start..end));
        next += 1;
    }
    pieces.push(Bytes::from_static(b"}"));
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// From the opening quote to behind the closing one.
fn skip_string(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn skip_value(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => skip_string(text, at),
        b'{' | b'[' => {
            let mut depth = 0usize;
            let mut at = at;
            loop {
                match text.get(at)? {
                    b'"' => {
                        at = skip_string(text, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => {
            let rest = text.get(at..)?;
            let end = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r'));
            Some(at + end.unwrap_or(rest.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> String {
        let mut pieces = Vec::new();
        without_type(&Bytes::copy_from_slice(text.as_bytes()), &mut pieces);
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[test]
    fn type_is_cut_out() {
        let cases = [
            (
                r#"{"apiVersion":"v1","data":{"a":"}\""},"kind":"X","metadata":{}}"#,
                r#"{"data":{"a":"}\""},"metadata":{}}"#,
            ),
            (r#"{"apiVersion":"v1","kind":"X"}"#, "{}"),
            (r#"{"a":1,"b":[1,{"c":"]"}],"kind":"X"}"#, r#"{"a":1,"b":[1,{"c":"]"}]}"#),
            (r#"{"kind":"X","z":null}"#, r#"{"z":null}"#),
            ("{}", "{}"),
            ("[1]", "[1]"),
        ];
        for (text, expected) in cases {
            assert_eq!(stripped(text), expected, "{text}");
        }
    }

    #[test]
    fn one_value() {
        let text = Bytes::from_static(br#"{"a": {"b":1} ,"c":"\"","d":12}"#);
        assert_eq!(value(&text, "a").unwrap(), r#"{"b":1}"#);
        assert_eq!(value(&text, "c").unwrap(), r#""\"""#);
        assert_eq!(value(&text, "d").unwrap(), "12");
        assert_eq!(value(&text, "e"), None);
        for broken in ["", "{", r#"{"a"#, r#"{"a":"#, r#"{"a":{"#, r#"{"a":1"#, r#"{"a\"#] {
            assert_eq!(fields(broken.as_bytes()), None, "{broken}");
        }
    }
}
