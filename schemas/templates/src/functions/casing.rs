//! Upper and lower case, and the case of names.

use super::strings::is_space;
use super::{Function, Parameter, function, words};
use crate::error::Outcome;
use crate::values::{Value, Work};
use Parameter::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    function("upper", &[Text], |work, a| mapped(work, &a.characters(0), upper)),
    function("lower", &[Text], |work, a| mapped(work, &a.characters(0), lower)),
    function("title", &[Text], |work, a| {
        let text = title(&a.characters(0));
        work.text(text)
    }),
    function("untitle", &[Text], |work, a| {
        let mut first = true;
        mapped(work, &a.characters(0), |c| {
            let begins = std::mem::replace(&mut first, is_space(c));
            if begins && !is_space(c) { lower(c) } else { c }
        })
    }),
    function("swapcase", &[Text], |work, a| {
        let text = swap_case(&a.characters(0));
        work.text(text)
    }),
    function("nospace", &[Text], |work, a| {
        let text = without_space(a.text(0));
        work.text(text)
    }),
    function("initials", &[Text], |work, a| {
        let text = initials(a.text(0));
        work.text(text)
    }),
    function("camelcase", &[Text], |work, a| {
        let text = pascal_case(&a.characters(0));
        work.text(text)
    }),
    function("snakecase", &[Text], |work, a| {
        let text = words::joined(&a.characters(0), '_');
        work.text(text)
    }),
    function("kebabcase", &[Text], |work, a| {
        let text = words::joined(&a.characters(0), '-');
        work.text(text)
    }),
];

fn mapped(work: &mut Work, text: &str, map: impl FnMut(char) -> char) -> Outcome<Value> {
    work.steps(text.len() / 64)?;
    work.text(text.chars().map(map).collect::<String>())
}

/// The upper case of a character, which is always one character.
pub(super) fn upper(c: char) -> char {
    single(c, c.to_uppercase())
}

/// The lower case of a character, which is always one character.
pub(super) fn lower(c: char) -> char {
    if c == 'İ' {
        return 'i';
    }
    single(c, c.to_lowercase())
}

fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(mapped), None) => mapped,
        _ => c,
    }
}

/// Every word begins with a capital. A word ends at white space, and at any ASCII character but letters, digits and `_`.
fn title(text: &str) -> String {
    let mut begins = true;
    let mut output = String::with_capacity(text.len());
    for c in text.chars() {
        output.push(if begins { upper(c) } else { c });
        begins = if c.is_ascii() { !c.is_ascii_alphanumeric() && c != '_' } else { is_space(c) };
    }
    output
}

fn swap_case(text: &str) -> String {
    text.chars().map(|c| if c.is_uppercase() { lower(c) } else { upper(c) }).collect()
}

/// The text without white space. It goes byte by byte, so other characters than ASCII become two.
fn without_space(text: &[u8]) -> Vec<u8> {
    let spaces = text.iter().filter(|byte| is_space(char::from(**byte))).count();
    if spaces == 0 {
        return text.to_vec();
    }
    text.iter().map(|byte| char::from(*byte)).filter(|c| !is_space(*c)).collect::<String>().into_bytes()
}

/// The first byte of each word, as a character.
fn initials(text: &[u8]) -> String {
    let mut gap = true;
    let mut output = String::new();
    for c in text.iter().map(|byte| char::from(*byte)) {
        if is_space(c) {
            gap = true;
        } else if std::mem::take(&mut gap) {
            output.push(c);
        }
    }
    output
}

pub(super) fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || is_space(c)
}

/// `http_server` becomes `HttpServer`. Connectors at the beginning stay, and of several between words all but one.
fn pascal_case(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut characters = text.chars();
    let Some(mut current) = characters.next() else { return output };
    while is_connector(current) {
        output.push(current);
        let Some(next) = characters.next() else {
            // A name of nothing but connectors gets its last one twice.
            output.push(current);
            return output;
        };
        current = next;
    }
    let mut lowers = current.is_uppercase();
    current = upper(current);
    for next in characters {
        let before = std::mem::replace(&mut current, next);
        if is_connector(next) && is_connector(before) {
            output.push(before);
        } else if is_connector(before) {
            lowers = next.is_uppercase();
            current = upper(next);
        } else {
            if lowers && next.is_uppercase() {
                current = lower(next);
            } else if lowers {
                lowers = false;
            }
            output.push(before);
        }
    }
    output.push(current);
    output
}
