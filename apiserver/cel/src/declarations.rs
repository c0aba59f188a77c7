//! The declarations of functions, and the binding of their type parameters.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::OnceLock;

use crate::declared::{AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK};
use crate::types::{Type, simple};

/// The types that the type parameters of one call stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bindings<'s>(BTreeMap<char, Type<'s>>);

impl<'s> Bindings<'s> {
    /// Returns whether a value of type `actual` fits the type `declared`, and binds type parameters.
    pub fn fits(&mut self, declared: &Type<'s>, actual: &Type<'s>) -> bool {
        match (declared, actual) {
            (Type::Param(name), actual) => match self.0.get(name).cloned() {
                None => {
                    self.0.insert(*name, actual.clone());
                    true
                }
                Some(Type::Dyn | Type::Error) => true,
                Some(bound) => {
                    if let Some(decided) = bound.unified(actual) {
                        self.0.insert(*name, decided);
                        return true;
                    }
                    if self.fits(&bound, actual) {
                        return true;
                    }
                    let wider = self.fits(actual, &bound);
                    if wider {
                        self.0.insert(*name, actual.clone());
                    }
                    wider
                }
            },
            (declared, actual) if declared.is_unknown() || actual.is_unknown() => true,
            (declared, Type::Simple("null_type")) => declared.is_nullable(),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.fits(a, b),
            (Type::Kind(_), Type::Kind(_)) => true,
            (Type::Map(k, v), Type::Map(k2, v2)) => self.fits(k, k2) && self.fits(v, v2),
            (a, b) => a == b,
        }
    }

    /// Replaces the parameters of a type. Those that no argument decides are open.
    pub fn resolve(&self, declared: &Type<'s>) -> Type<'s> {
        match declared {
            Type::Param(name) => self.0.get(name).cloned().unwrap_or(Type::Open),
            Type::List(item) => Type::List(Rc::new(self.resolve(item))),
            Type::Optional(item) => Type::Optional(Rc::new(self.resolve(item))),
            Type::Kind(item) => Type::Kind(Rc::new(self.resolve(item))),
            Type::Map(key, value) => Type::Map(Rc::new(self.resolve(key)), Rc::new(self.resolve(value))),
            other => other.clone(),
        }
    }
}

/// One overload of a function, in the form `receiver.(arguments) result`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Overload {
    text: &'static str,
}

impl Overload {
    /// Returns the parameter types with the receiver first, whether it is a member call, and the result type.
    pub fn types<'s>(&self) -> Option<(Vec<Type<'s>>, bool, Type<'s>)> {
        let open = if self.text.starts_with('(') { 0 } else { self.text.find(".(")? + 1 };
        let close = matching(self.text, open)?;
        let mut args = Vec::new();
        if open > 0 {
            args.push(read(&self.text[..open - 1])?);
        }
        for arg in split(&self.text[open + 1..close]) {
            args.push(read(arg)?);
        }
        Some((args, open > 0, read(self.text[close + 1..].trim())?))
    }
}

fn matching(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.bytes().enumerate().skip(open) {
        match c {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(i),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, c) in text.bytes().enumerate() {
        match c {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

/// Reads a type as the declarations write it.
pub(crate) fn read<'s>(text: &'static str) -> Option<Type<'s>> {
    if let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let parts = split(inner);
        let first = Rc::new(read(parts.first()?)?);
        return Some(match name {
            "list" => Type::List(first),
            "opt" => Type::Optional(first),
            "type" => Type::Kind(first),
            _ => Type::Map(first, Rc::new(read(parts.get(1)?)?)),
        });
    }
    Some(match text {
        "dyn" => Type::Dyn,
        "duration" => simple("google.protobuf.Duration"),
        "timestamp" => simple("google.protobuf.Timestamp"),
        "quantity" => simple("kubernetes.Quantity"),
        "semver" => simple("kubernetes.Semver"),
        "url" => simple("kubernetes.URL"),
        "format" => simple("kubernetes.NamedFormat"),
        "ip" => simple("net.IP"),
        "cidr" => simple("net.CIDR"),
        "authorizer" => simple(AUTHORIZER),
        "pathcheck" => simple(PATH_CHECK),
        "groupcheck" => simple(GROUP_CHECK),
        "resourcecheck" => simple(RESOURCE_CHECK),
        "decision" => simple(DECISION),
        "A" | "B" => Type::Param(if text == "A" { 'A' } else { 'B' }),
        name => Type::Simple(name),
    })
}

/// Returns the overloads of a function; the list is empty if the function is not declared.
pub(crate) fn overloads(function: &str) -> &'static [Overload] {
    static TABLE: OnceLock<BTreeMap<&'static str, Vec<Overload>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
        for line in DECLARATIONS.lines() {
            let Some((names, signatures)) = line.split_once(" : ") else { continue };
            for name in names.split_whitespace() {
                let list = table.entry(name).or_default();
                list.extend(signatures.split(" | ").map(|text| Overload { text: text.trim() }));
            }
        }
        table
    });
    table.get(function).map_or(&[], Vec::as_slice)
}

/// The declarations. Each line has the form `name name : signature | signature`.
const DECLARATIONS: &str = include_str!("declarations.txt");
