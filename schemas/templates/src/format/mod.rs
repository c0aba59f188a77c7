//! Formatted printing as Go's package `fmt` does it: `print`, `println`, `printf`, and the text of a value.
//!
//! [`json`] is JSON as Go writes it, and [`numbers`] reads numbers. [`directive`] reads a format, [`value`] prints a value with a directive, [`integer`] and [`float`] have the digits, [`quote`] the quotation marks. Wrong
//! arguments are no errors: the output says what is wrong, for example `%!d(string=a)`.

mod directive;
pub(crate) mod float;
mod integer;
mod json;
pub(crate) mod numbers;
pub(crate) mod quote;
mod value;

use crate::error::Outcome;
use crate::values::{Value, Work};

pub(crate) use directive::printf;
pub(crate) use json::{decode, encode};
use value::Printer;

/// What stands between `%` and the verb.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    pub(crate) width: Option<usize>,
    pub(crate) precision: Option<usize>,
    pub(crate) minus: bool,
    pub(crate) plus: bool,
    pub(crate) sharp: bool,
    pub(crate) space: bool,
    pub(crate) zero: bool,
    /// `%#v`: the value as Go's source has it.
    pub(crate) source: bool,
}

/// Appends the value as `%v` prints it.
pub(crate) fn append(work: &mut Work, output: &mut Vec<u8>, value: &Value) -> Outcome<()> {
    Printer { work, output, flags: Flags::default() }.argument(value, 'v')
}

/// The value as `%v` prints it.
pub(crate) fn text(work: &mut Work, value: &Value) -> Outcome<Vec<u8>> {
    let mut output = Vec::new();
    append(work, &mut output, value)?;
    Ok(output)
}

/// The arguments as `print` prints them: with a space between two that are both no strings.
pub(crate) fn print(work: &mut Work, arguments: &[Value]) -> Outcome<Vec<u8>> {
    let mut output = Vec::new();
    let mut was_text = true;
    for (position, argument) in arguments.iter().enumerate() {
        let is_text = matches!(argument, Value::Text(_));
        if position > 0 && !is_text && !was_text {
            work.append(&mut output, b" ")?;
        }
        append(work, &mut output, argument)?;
        was_text = is_text;
    }
    Ok(output)
}

/// The arguments as `println` prints them: with spaces between them and a line feed.
pub(crate) fn println(work: &mut Work, arguments: &[Value]) -> Outcome<Vec<u8>> {
    let mut output = Vec::new();
    for (position, argument) in arguments.iter().enumerate() {
        if position > 0 {
            work.append(&mut output, b" ")?;
        }
        append(work, &mut output, argument)?;
    }
    work.append(&mut output, b"\n")?;
    Ok(output)
}
