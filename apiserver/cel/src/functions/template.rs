//! The template of `format`: its clauses, and the values that they accept.

use crate::limits::MAX_CEL_TEXT;
use crate::types::Type;
use crate::values::CANCELLED;

/// One formatting clause of a template, for example `%.2f`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clause {
    pub(super) verb: u8,
    pub(super) precision: Option<usize>,
}

/// The types that a clause formats, and the error for other types.
struct Verb {
    /// The supported types by their runtime names. `%s` supports all of them and formats lists and maps recursively.
    takes: &'static [&'static str],
    refusal: &'static str,
}

const NUMBERS: [&str; 2] = ["int", "uint"];
pub(super) const TEXTS: [&str; 12] = [
    "list",
    "map",
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "google.protobuf.Timestamp",
    "bytes",
    "google.protobuf.Duration",
    "type",
    "null_type",
];

impl Clause {
    fn rules(self) -> Verb {
        let (takes, refusal): (&'static [&'static str], _) = match self.verb {
            b'd' => (&NUMBERS, "decimal clause can only be used on integers"),
            b'f' => (&["double", "string"], "fixed-point clause can only be used on doubles"),
            b'e' => (&["double", "string"], "scientific clause can only be used on doubles"),
            b'b' => (&["int", "uint", "bool"], "only integers and bools can be formatted as binary"),
            b'o' => (&NUMBERS, "octal clause can only be used on integers"),
            b'x' | b'X' => (
                &["int", "uint", "string", "bytes"],
                "only integers, byte buffers, and strings can be formatted as hex",
            ),
            _ => (
                &TEXTS,
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps",
            ),
        };
        Verb { takes, refusal }
    }

    /// Returns the error for a value whose runtime type has that name.
    pub(super) fn refuse(self, type_name: &str) -> String {
        format!("error during formatting: {}, was given {type_name}", self.rules().refusal)
    }

    /// Returns an error if the clause can never format a value of the type.
    pub(crate) fn check(self, found: &Type<'_>) -> Option<String> {
        let name = match found {
            Type::Dyn | Type::Open | Type::Error | Type::Param(_) => return None,
            Type::List(_) => "list",
            Type::Map(..) => "map",
            Type::Kind(_) => "type",
            Type::Optional(_) => "optional_type",
            Type::Object(..) | Type::Metadata => "object",
            Type::Variables(_) => "kubernetes.variables",
            Type::Made(name) => name,
            Type::Simple(name) => name,
        };
        (!self.rules().takes.contains(&name)).then(|| self.refuse(name))
    }

    /// Returns whether the clause formats the items of lists and the entries of maps, too.
    pub(crate) fn looks_inside(self) -> bool {
        self.verb == b's'
    }
}

/// The reason why a template cannot be filled: an error for a value, or an error in the template.
pub(crate) enum Refused<E> {
    Value(E),
    Template(String),
}

/// Fills the clauses of `template` with the texts that `write` returns for `count` values. Returns the text and the
/// number of values used.
///
/// `checked` is set at type checking, when cel-go reports a truncated clause before a missing value.
pub(crate) fn fill<E>(
    template: &str,
    count: usize,
    checked: bool,
    mut write: impl FnMut(Clause, usize) -> Result<String, E>,
) -> Result<(String, usize), Refused<E>> {
    let bytes = template.as_bytes();
    let (mut out, mut at, mut used) = (Vec::with_capacity(bytes.len()), 0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' || bytes.get(at + 1) == Some(&b'%') {
            out.push(*byte);
            at += if *byte == b'%' { 2 } else { 1 };
            continue;
        }
        let missing = || Refused::Template(format!("index {used} out of range"));
        if used >= count && !checked {
            return Err(missing());
        }
        if at + 1 >= bytes.len() {
            return Err(Refused::Template("unexpected end of string".to_owned()));
        }
        if used >= count {
            return Err(missing());
        }
        let (read, clause) = parse(&bytes[at + 1..])
            .map_err(|why| Refused::Template(format!("could not parse formatting clause: {why}")))?;
        out.extend(write(clause, used).map_err(Refused::Value)?.into_bytes());
        at += 1 + read;
        used += 1;
        if out.len() > MAX_CEL_TEXT {
            return Err(Refused::Template(CANCELLED.into_owned()));
        }
    }
    Ok((String::from_utf8_lossy(&out).into_owned(), used))
}

/// Parses the clause after a percent sign and returns its length and the clause.
fn parse(rest: &[u8]) -> Result<(usize, Clause), String> {
    let (mut at, mut precision) = (0, None);
    if rest.first() == Some(&b'.') {
        let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at = 1 + digits;
        let text = String::from_utf8_lossy(&rest[1..at]).into_owned();
        if at >= rest.len() {
            return Err("error while parsing precision: could not find end of precision specifier".to_owned());
        }
        let why = if digits == 0 { "invalid syntax" } else { "value out of range" };
        precision = Some(text.parse().map_err(|_| {
            format!(
                "error while parsing precision: error while converting precision to integer: \
                 strconv.Atoi: parsing \"{text}\": {why}"
            )
        })?);
    }
    let verb = rest[at];
    if !b"sdfebxXo".contains(&verb) {
        return Err(format!("unrecognized formatting clause \"{}\"", char::from(verb)));
    }
    Ok((at + 1, Clause { verb, precision }))
}
