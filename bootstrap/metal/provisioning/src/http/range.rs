//! Parses the requested range of a file (RFC 9110, section 14).

/// The requested part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole file.
    Whole,
    /// The offsets of the first and the last byte, both included.
    Bytes(u64, u64),
    /// The range lies outside the file.
    Impossible,
}

/// Parses the header `Range` for a file of `length` bytes. Another unit, several ranges, and an invalid range are ignored, as the
/// standard allows: the answer is the whole file.
pub fn part(header: Option<&str>, length: u64) -> Part {
    let Some((first, last)) = header.and_then(single) else { return Part::Whole };
    let last_byte = length.saturating_sub(1);
    match (first, last) {
        (Some(first), Some(last)) if first > last => Part::Whole,
        (Some(first), _) if first >= length => Part::Impossible,
        (Some(first), last) => Part::Bytes(first, last.unwrap_or(last_byte).min(last_byte)),
        (None, Some(0)) => Part::Impossible,
        (None, Some(_)) if length == 0 => Part::Impossible,
        (None, Some(count)) => Part::Bytes(length.saturating_sub(count), last_byte),
        (None, None) => Part::Whole,
    }
}

fn single(header: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, range) = header.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(Some(digits.parse().unwrap_or(u64::MAX)))
        }
        _ => None,
    };
    Some((number(first)?, number(last)?))
}
