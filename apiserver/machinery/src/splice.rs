//! Extraction and removal of fields of JSON objects without parsing them.

use bytes::Bytes;

/// A field of a JSON object: its key, and the range of its text from the key's quote to the end of the value.
type Field<'a> = (&'a [u8], usize, usize);

/// An iterator over the top-level fields of a JSON object, which reads the text lazily. Values are skipped without
/// validation.
struct Fields<'a> {
    text: &'a [u8],
    /// Offset of the next field, or `None` after the last one or if the text is not a JSON object.
    next: Option<usize>,
    /// Whether the iterator has reached the end of the object.
    complete: bool,
}

impl<'a> Fields<'a> {
    fn new(text: &'a [u8]) -> Self {
        let at = skip_space(text, 0);
        let next = (text.get(at) == Some(&b'{')).then(|| skip_space(text, at + 1));
        Self { text, next, complete: false }
    }

    fn read(&mut self, start: usize) -> Option<Field<'a>> {
        let text = self.text;
        match text.get(start)? {
            b'"' => {}
            b'}' => {
                self.complete = true;
                return None;
            }
            _ => return None,
        }
        let end = skip_string(text, start)?;
        let key = text.get(start + 1..end - 1)?;
        let colon = skip_space(text, end);
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let end = skip_value(text, skip_space(text, colon + 1))?;
        let behind = skip_space(text, end);
        self.next = match text.get(behind)? {
            b',' => Some(skip_space(text, behind + 1)),
            b'}' => Some(behind),
            _ => None,
        };
        Some((key, start, end))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let start = self.next.take()?;
        self.read(start)
    }
}

/// Returns all fields, or `None` if the text is not a JSON object.
fn fields(text: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Fields::new(text);
    let found = fields.by_ref().collect();
    fields.complete.then_some(found)
}

/// Returns the range of the value of one field. The text after the field is not validated.
pub fn range(text: &[u8], key: &str) -> Option<std::ops::Range<usize>> {
    let (_, start, end) = Fields::new(text).find(|(one, _, _)| *one == key.as_bytes())?;
    let colon = skip_space(text, start + key.len() + 2);
    Some(skip_space(text, colon + 1)..end)
}

/// Returns the text of the value of one field.
pub fn value(text: &Bytes, key: &str) -> Option<Bytes> {
    range(text, key).map(|range| text.slice(range))
}

/// Appends the pieces of an object without its `apiVersion` and `kind`, as items of typed lists omit them.
pub fn without_type(text: &Bytes, pieces: &mut Vec<Bytes>) {
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
        // Neighboring fields with only a comma between them stay one piece.
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

/// Returns the offset after the closing quote of the string that begins at `at`.
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
