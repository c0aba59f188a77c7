//! The functions of templates: those of Go's `text/template`, and sprig's functions that give the same for the same arguments.
//!
//! Each file has a subject and its table. What sprig's functions do by panic is an error here.

mod arguments;
mod builtins;
mod casing;
mod casting;
mod constraints;
mod dates;
mod decimals;
mod defaults;
mod dicts;
mod encoding;
mod equality;
mod hashes;
mod lists;
mod merging;
pub(crate) mod methods;
mod numbers;
mod passwords;
mod paths;
mod reflection;
mod regexes;
mod semver;
mod strings;
mod unavailable;
mod urls;
mod words;
mod wrapping;

pub(crate) use arguments::{Arguments, Function, Parameter};
use arguments::{function, variadic};

/// All tables. The first that has a name wins, so sprig's come before Go's own.
const TABLES: &[&[Function]] = &[
    strings::FUNCTIONS,
    casing::FUNCTIONS,
    wrapping::FUNCTIONS,
    numbers::FUNCTIONS,
    decimals::FUNCTIONS,
    casting::FUNCTIONS,
    lists::FUNCTIONS,
    equality::FUNCTIONS,
    dicts::FUNCTIONS,
    merging::FUNCTIONS,
    defaults::FUNCTIONS,
    reflection::FUNCTIONS,
    encoding::FUNCTIONS,
    hashes::FUNCTIONS,
    passwords::FUNCTIONS,
    regexes::FUNCTIONS,
    semver::FUNCTIONS,
    dates::FUNCTIONS,
    paths::FUNCTIONS,
    urls::FUNCTIONS,
    unavailable::FUNCTIONS,
    builtins::FUNCTIONS,
];

/// The names of all functions of a class's template. Those that Go and sprig both define come twice.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|table| table.iter()).map(|function| function.name)
}

/// A function of a class's template.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLES.iter().flat_map(|table| table.iter()).find(|function| function.name == name)
}

/// A function of a name's template, which has only Go's own.
pub(crate) fn find_builtin(name: &str) -> Option<&'static Function> {
    builtins::FUNCTIONS.iter().find(|function| function.name == name)
}
