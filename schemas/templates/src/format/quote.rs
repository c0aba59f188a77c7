//! Strings in quotes, as Go's `strconv.Quote` writes them.

/// Whether Go prints the character as it is: a letter, mark, number, punctuation, symbol, or a plain space.
pub(crate) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='\x7e').contains(&c);
    }
    // A mark is only escaped by Rust where it begins a string.
    let mut pair = String::from("a");
    pair.push(c);
    !pair.escape_debug().any(|escaped| escaped == '\\')
}

/// A string in double quotes. With `ascii`, it has no other characters.
pub(crate) fn string(text: &[u8], ascii: bool) -> Vec<u8> {
    let mut output = vec![b'"'];
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            character_into(&mut output, c, '"', ascii);
        }
        for byte in chunk.invalid() {
            output.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
    output.push(b'"');
    output
}

/// A character in single quotes.
pub(crate) fn character(c: char, ascii: bool) -> Vec<u8> {
    let mut output = vec![b'\''];
    character_into(&mut output, c, '\'', ascii);
    output.push(b'\'');
    output
}

fn character_into(output: &mut Vec<u8>, c: char, quote: char, ascii: bool) {
    let escape = match c {
        '\x07' => 'a',
        '\x08' => 'b',
        '\x0c' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\x0b' => 'v',
        c if c == quote || c == '\\' => c,
        c if is_printable(c) && (c.is_ascii() || !ascii) => {
            output.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return;
        }
        c => {
            let code = u32::from(c);
            let text = match code {
                0..0x80 => format!("\\x{code:02x}"),
                0x80..0x1_0000 => format!("\\u{code:04x}"),
                _ => format!("\\U{code:08x}"),
            };
            output.extend_from_slice(text.as_bytes());
            return;
        }
    };
    output.push(b'\\');
    output.push(escape as u8);
}
