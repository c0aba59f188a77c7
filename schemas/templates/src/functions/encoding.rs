//! Base64 and base32. What cannot be decoded becomes the text of the error, as sprig has it, so the positions in it are those of Go.

use super::{Arguments, Function, Parameter, function};
use crate::error::Outcome;
use crate::values::{Value, Work};
use Parameter::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    function("b64enc", &[Text], |work, a| encode(work, a, BASE64, 6)),
    function("b64dec", &[Text], |work, a| match base64(a.text(0)) {
        Ok(bytes) => work.text(bytes),
        Err(position) => work.text(format!("illegal base64 data at input byte {position}")),
    }),
    function("b32enc", &[Text], |work, a| encode(work, a, BASE32, 5)),
    function("b32dec", &[Text], |work, a| match base32(a.text(0)) {
        Ok(bytes) => work.text(bytes),
        Err(position) => work.text(format!("illegal base32 data at input byte {position}")),
    }),
];

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Writes groups of bits as characters, filled up with `=`: four characters of 6 bits, or eight of 5.
fn encode(work: &mut Work, a: &Arguments, alphabet: &[u8], bits: u32) -> Outcome<Value> {
    let text = a.text(0);
    work.bytes(text.len() * 2)?;
    let (bytes, characters) = if bits == 6 { (3, 4) } else { (5, 8) };
    let mut output = Vec::new();
    for group in text.chunks(bytes) {
        let mut number = group.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        number <<= 8 * (bytes - group.len());
        let used = (group.len() * 8).div_ceil(bits as usize);
        for position in 0..characters {
            let index = number >> (bits as usize * (characters - 1 - position)) & ((1 << bits) - 1);
            output.push(if position < used { alphabet[index as usize] } else { b'=' });
        }
    }
    work.text(output)
}

/// The bytes of decoded groups: `bits` of each value, the last incomplete byte left out.
fn join(values: &[u8], bits: u32, output: &mut Vec<u8>) {
    let (mut number, mut count) = (0u64, 0);
    for value in values {
        number = number << bits | u64::from(*value);
        count += bits;
        if count >= 8 {
            count -= 8;
            output.push((number >> count) as u8);
        }
    }
}

fn digit(alphabet: &[u8], byte: u8) -> Option<u8> {
    alphabet.iter().position(|known| *known == byte).map(|position| position as u8)
}

/// Decodes base64, or returns the position of what is wrong.
pub(super) fn base64(text: &[u8]) -> Result<Vec<u8>, usize> {
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let after_line_ends = |from: usize| {
        text[from..].iter().position(|byte| !is_line_end(byte)).map_or(text.len(), |found| from + found)
    };
    let mut output = Vec::new();
    let mut group = Vec::new();
    let mut position = 0;
    while position < text.len() {
        let byte = text[position];
        position += 1;
        if is_line_end(&byte) {
            continue;
        }
        if let Some(digit) = digit(BASE64, byte) {
            group.push(digit);
            if group.len() == 4 {
                join(&group, 6, &mut output);
                group.clear();
            }
            continue;
        }
        if byte != b'=' || group.len() < 2 {
            return Err(position - 1);
        }
        if group.len() == 2 {
            position = after_line_ends(position);
            match text.get(position) {
                None => return Err(text.len()),
                Some(b'=') => position += 1,
                Some(_) => return Err(position - 1),
            }
        }
        let end = after_line_ends(position);
        if end < text.len() {
            return Err(end);
        }
        join(&group, 6, &mut output);
        return Ok(output);
    }
    if group.is_empty() { Ok(output) } else { Err(text.len() - group.len()) }
}

/// Decodes base32, or returns the position of what is wrong, which does not count line ends.
fn base32(text: &[u8]) -> Result<Vec<u8>, usize> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let mut output = Vec::new();
    let mut group = Vec::new();
    for (position, byte) in text.iter().enumerate() {
        let rest = &text[position + 1..];
        let used = group.len();
        if *byte == b'=' && used >= 2 && rest.len() < 8 {
            if rest.len() + used < 7 {
                return Err(text.len());
            }
            if let Some(other) = rest[..7 - used].iter().position(|byte| *byte != b'=') {
                return Err(position + other);
            }
            if matches!(used, 3 | 6) {
                return Err(position);
            }
            join(&group, 5, &mut output);
            return Ok(output);
        }
        group.push(digit(BASE32, *byte).ok_or(position)?);
        if group.len() == 8 {
            join(&group, 5, &mut output);
            group.clear();
        }
    }
    if group.is_empty() { Ok(output) } else { Err(text.len() - group.len()) }
}
