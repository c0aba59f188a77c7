//! Paths to fields of a schema, such as `.a.b` or `.a['b']`.

use super::Schema;

/// Returns the field of a path in the form that errors show, and its schema. `brackets` tells whether the form
/// `['name']` is allowed.
///
/// # Errors
/// Go's message for an invalid path, or for a field that the schema does not have.
pub fn find<'s>(schema: &'s Schema, path: &str, brackets: bool) -> Result<(String, &'s Schema), String> {
    const END: &str = "unexpected end of JSON path";
    let (mut schema, mut rest, mut shown) = (schema, path, String::new());
    while !rest.is_empty() {
        let name = match token(&mut rest) {
            "." if rest.is_empty() => return Err(END.into()),
            "." => token(&mut rest).to_owned(),
            "[" if !brackets => return Err("array notation is not allowed".into()),
            "[" if rest.is_empty() => return Err(END.into()),
            "[" => {
                let quoted = token(&mut rest);
                let Some(name) = quoted.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')) else {
                    return Err(format!("expected single quoted string but got {quoted}"));
                };
                match token(&mut rest) {
                    "]" => {}
                    "" => return Err(END.into()),
                    other => return Err(format!("expected ] but got {other}")),
                }
                name.replace("\\'", "'")
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        schema = match (schema.properties.get(&name), &schema.additional_properties) {
            (Some(child), _) => {
                let dot = if shown.is_empty() { "" } else { "." };
                shown.push_str(&format!("{dot}{name}"));
                child
            }
            (None, Some(child)) if schema.properties.is_empty() => {
                shown.push_str(&format!("[{name}]"));
                child
            }
            _ => return Err("does not refer to a valid field".into()),
        };
    }
    Ok((shown, schema))
}

/// Consumes the next delimiter, quoted text or name.
fn token<'p>(rest: &mut &'p str) -> &'p str {
    let bytes = rest.as_bytes();
    let end = match bytes.first() {
        Some(b'.' | b'[' | b']') => 1,
        Some(b'\'') => {
            let closes = |at: &usize| bytes[*at] == b'\'' && bytes[at - 1] != b'\\';
            (1..bytes.len()).find(closes).map_or(bytes.len(), |at| at + 1)
        }
        _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
    };
    let (token, after) = rest.split_at(end);
    *rest = after;
    token
}
