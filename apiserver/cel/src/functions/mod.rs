//! The functions of CEL and of Kubernetes' CEL library.

mod authorization;
mod convert;
mod format;
mod kubernetes;
mod language;
mod lists;
mod show;
mod strings;
pub(crate) mod template;
mod times;

use machinery::pattern::Pattern;

pub(crate) use self::show::show;
use crate::values::{Outcome, Val, no_overload};

/// Calls a function. If `member` is set, `args` begins with the receiver. `pattern` is the compiled form of a literal
/// pattern.
///
/// # Errors
/// cel-go's message; `no such overload` if the function does not accept the values.
pub(crate) fn call<'a>(name: &str, member: bool, args: &[Val<'a>], pattern: Option<&Pattern>) -> Outcome<'a> {
    let found = language::call(name, args)
        .or_else(|| strings::call(name, member, args, pattern))
        .or_else(|| lists::call(name, args))
        .or_else(|| kubernetes::call(name, args))
        .or_else(|| times::call(name, args))
        .or_else(|| authorization::call(name, args));
    found.unwrap_or_else(|| Err(no_overload(name, args, pattern.is_some())))
}
