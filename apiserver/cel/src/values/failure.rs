//! What an evaluation ends in, and cel-go's words for its failures.

use std::borrow::Cow;

use super::value::Val;

/// Why an evaluation failed, in cel-go's words.
pub(crate) type Failure = Cow<'static, str>;

/// What evaluation returns.
pub(crate) type Outcome<'a> = Result<Val<'a>, Failure>;

/// The evaluation became too expensive.
pub(crate) const CANCELLED: Failure = Cow::Borrowed("operation cancelled: actual cost limit exceeded");

/// The evaluations over one object became too expensive together.
pub(crate) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// A function or an operator takes no such values.
pub(crate) const NO_OVERLOAD: Failure = Cow::Borrowed("no such overload");

/// The words for values that a function does not take: cel-go names it, and mostly the types of the values.
pub(crate) fn no_overload(name: &str, args: &[Val<'_>], compiled: bool) -> Failure {
    let nameless = matches!(name, "contains" | "startsWith" | "endsWith" | "matches" | "@in")
        || (compiled && matches!(name, "find" | "findAll"));
    // These have functions of their own to ask.
    let asked = matches!(args.first(), Some(Val::Text(_) | Val::Duration(_) | Val::Timestamp(_)));
    if nameless || (asked && matches!(name, "size" | "sort")) {
        return NO_OVERLOAD;
    }
    if matches!(name, "size" | "sort") {
        return format!("no such overload: {name}").into();
    }
    let types: Vec<&str> = args.iter().map(Val::type_name).collect();
    match name {
        "flatten" => format!("no such overload: {}.flatten({})", types[0], types[1..].join(", ")).into(),
        _ => format!("no such overload: {name}({})", types.join(", ")).into(),
    }
}
