//! Parts of a document, as requested by the `Range` header.

use bytes::Bytes;
use http::header::{CONTENT_RANGE, IF_RANGE, RANGE};
use http::{HeaderMap, HeaderValue};

use crate::response::answer::Answer;

/// The requested part of a document.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// First and last byte.
    Bytes(usize, usize),
    /// The header is malformed.
    Unreadable,
    /// The ranges begin after the end of the document.
    Outside,
}

/// Returns the document, or the part that the request asks for. Requests for several parts get the whole
/// document.
pub(crate) fn answer(
    bytes: &Bytes,
    tag: &HeaderValue,
    content_type: &'static str,
    request: &HeaderMap,
) -> Answer {
    let text = request.get(RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let other = request.get(IF_RANGE).is_some_and(|value| value != tag);
    let total = bytes.len();
    let range = |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""));
    match if other { Part::Whole } else { part(text, total) } {
        Part::Whole => Answer::new(200, content_type, bytes.clone()),
        Part::Bytes(first, last) => {
            let mut answer = Answer::new(206, content_type, bytes.slice(first..=last));
            answer.headers.insert(CONTENT_RANGE, range(format!("bytes {first}-{last}/{total}")));
            answer
        }
        Part::Unreadable => Answer::text(416, "invalid range\n"),
        Part::Outside => {
            let mut answer = Answer::text(416, "invalid range: failed to overlap\n");
            answer.headers.insert(CONTENT_RANGE, range(format!("bytes */{total}")));
            answer
        }
    }
}

/// Returns the part of a document of `total` bytes that the header asks for.
pub fn part(text: &str, total: usize) -> Part {
    if text.is_empty() || total == 0 {
        return Part::Whole;
    }
    let Some(ranges) = text.strip_prefix("bytes=") else { return Part::Unreadable };
    let mut found = Vec::new();
    let mut outside = false;
    for range in ranges.split(',').map(str::trim).filter(|range| !range.is_empty()) {
        let Some((first, last)) = range.split_once('-').map(|(first, last)| (first.trim(), last.trim()))
        else {
            return Part::Unreadable;
        };
        let number = |text: &str| text.parse::<usize>().ok().filter(|_| !text.starts_with('+'));
        match (first, number(first), last, number(last)) {
            ("", _, _, Some(length)) => found.push((total - length.min(total), total - 1)),
            (_, Some(first), ..) if first >= total => outside = true,
            (_, Some(first), "", _) => found.push((first, total - 1)),
            (_, Some(first), _, Some(last)) if first <= last => found.push((first, last.min(total - 1))),
            _ => return Part::Unreadable,
        }
    }
    match found[..] {
        [(first, last)] if first <= last => Part::Bytes(first, last),
        [] if outside => Part::Outside,
        _ => Part::Whole,
    }
}
