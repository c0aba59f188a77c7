//! Breaks text into lines, and shortens it. Widths are in bytes.

use super::strings::cut;
use super::{Function, Parameter, function};
use crate::error::Outcome;
use crate::values::Work;
use Parameter::{Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    function("wrap", &[Int, Text], |work, a| {
        let text = wrap(work, a.text(1), a.int(0), b"\n", false)?;
        work.text(text)
    }),
    function("wrapWith", &[Int, Text, Text], |work, a| {
        let separator = if a.text(1).is_empty() { b"\n" } else { a.text(1) };
        let text = wrap(work, a.text(2), a.int(0), separator, true)?;
        work.text(text)
    }),
    function("abbrev", &[Int, Text], |work, a| {
        let text = if a.int(0) < 4 { a.text(1).to_vec() } else { abbreviate(a.text(1), 0, a.int(0))? };
        work.text(text)
    }),
    function("abbrevboth", &[Int, Int, Text], |work, a| {
        let (left, right) = (a.int(0), a.int(1));
        let stays = right < 4 || (left > 0 && right < 7);
        let text = if stays { a.text(2).to_vec() } else { abbreviate(a.text(2), left, right)? };
        work.text(text)
    }),
];

/// Breaks at the last space of each line. `long` says whether words that are longer than a line are broken, too.
fn wrap(work: &mut Work, text: &[u8], width: i64, separator: &[u8], long: bool) -> Outcome<Vec<u8>> {
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let mut output = Vec::new();
    let mut rest = text;
    while rest.len() > width {
        work.steps(1)?;
        if rest[0] == b' ' {
            rest = &rest[1..];
            continue;
        }
        let last = rest[..width + 1].iter().rposition(|byte| *byte == b' ');
        let next = || rest[width..].iter().position(|byte| *byte == b' ').map(|position| width + position);
        let (line, skipped) = match last {
            Some(end) => (end, 1),
            None if long => (width, 0),
            None => match next() {
                Some(end) => (end, 1),
                None => break,
            },
        };
        work.append(&mut output, &rest[..line])?;
        work.append(&mut output, separator)?;
        rest = &rest[line + skipped..];
    }
    work.append(&mut output, rest)?;
    Ok(output)
}

/// Shortens to the width, with dots for what is left out on one side or both.
fn abbreviate(text: &[u8], offset: i64, width: i64) -> Outcome<Vec<u8>> {
    let length = text.len() as i64;
    if length <= width {
        return Ok(text.to_vec());
    }
    let mut offset = offset.min(length);
    if length - offset < width - 3 {
        offset = length - (width - 3);
    }
    if offset <= 4 {
        return Ok([cut(text, 0, width - 3)?, b"..."].concat());
    }
    if width < 7 {
        return Ok(Vec::new());
    }
    if offset + width - 3 < length {
        let middle = abbreviate(cut(text, offset, length)?, 0, width - 3)?;
        return Ok([b"...", middle.as_slice()].concat());
    }
    Ok([b"...", cut(text, length - (width - 3), length)?].concat())
}
