//! Results of evaluation, and cel-go's messages for failures.

use std::borrow::Cow;

use super::value::Val;

/// The reason why an evaluation failed, as cel-go's message.
pub(crate) type Failure = Cow<'static, str>;

/// The result of an evaluation.
pub(crate) type Outcome<'a> = Result<Val<'a>, Failure>;

/// The error of an evaluation that was stopped because of its cost.
pub(crate) const CANCELLED: Failure = Cow::Borrowed("operation cancelled: actual cost limit exceeded");

/// All evaluations on one object together exceeded their cost limit.
pub(crate) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// A function or an operator does not accept the types of its arguments.
pub(crate) const NO_OVERLOAD: Failure = Cow::Borrowed("no such overload");

/// Returns the error for values that a function does not accept. It usually contains the name of the function and the
/// types of the values.
pub(crate) fn no_overload(name: &str, args: &[Val<'_>], compiled: bool) -> Failure {
    let nameless = matches!(name, "contains" | "startsWith" | "endsWith" | "matches" | "@in")
        || (compiled && matches!(name, "find" | "findAll"));
    // In cel-go, values of these types are receivers, whose errors do not name the function.
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
