//! Validation of base64 with Go's error messages.

/// Checks padded standard base64. Line breaks are allowed.
///
/// # Errors
/// Go's message with the offset of the first invalid byte.
pub fn check(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let mut digits = 0usize;
    let mut padding = 0usize;
    for (offset, byte) in bytes.iter().enumerate() {
        match byte {
            b'\r' | b'\n' => {}
            b'=' => {
                if digits % 4 < 2 || digits % 4 + padding >= 4 {
                    return Err(illegal(offset));
                }
                padding += 1;
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => digits += 1,
            _ => return Err(illegal(offset)),
        }
    }
    if (digits + padding).is_multiple_of(4) {
        Ok(())
    } else {
        Err(illegal(bytes.len() - (digits % 4).min(bytes.len())))
    }
}

fn illegal(offset: usize) -> String {
    format!("illegal base64 data at input byte {offset}")
}
