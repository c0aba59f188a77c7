//! Variables in scope.

use crate::values::Val;

/// The variables in scope, innermost first.
#[derive(Debug)]
pub(crate) struct Scope<'s, 'a> {
    name: &'s str,
    value: Val<'a>,
    outer: Option<&'s Scope<'s, 'a>>,
}

impl<'s, 'a> Scope<'s, 'a> {
    /// Adds a variable in front of the outer scope.
    pub fn new(name: &'s str, value: Val<'a>, outer: Option<&'s Scope<'s, 'a>>) -> Self {
        Self { name, value, outer }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Val<'a>> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if here.name == name {
                return Some(&here.value);
            }
            scope = here.outer;
        }
        None
    }
}
