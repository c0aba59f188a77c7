//! JSON text that people read.

/// Returns JSON text with a line for each value, indented by two spaces, and a line end. Fields keep their order.
pub fn indented(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(2 * text.len());
    let mut depth = 0usize;
    let mut bytes = text.iter().copied().peekable();
    let line = |lines: &mut Vec<u8>, depth: usize| {
        lines.push(b'\n');
        lines.resize(lines.len() + 2 * depth, b' ');
    };
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\n' | b'\t' | b'\r' => {}
            b'"' => {
                lines.push(byte);
                while let Some(byte) = bytes.next() {
                    lines.push(byte);
                    match byte {
                        b'"' => break,
                        b'\\' => lines.extend(bytes.next()),
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                lines.push(byte);
                while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
                if let Some(end) = bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    lines.push(end);
                } else {
                    depth += 1;
                    line(&mut lines, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut lines, depth);
                lines.push(byte);
            }
            b',' => {
                lines.push(byte);
                line(&mut lines, depth);
            }
            b':' => lines.extend_from_slice(b": "),
            _ => lines.push(byte),
        }
    }
    lines.push(b'\n');
    lines
}
