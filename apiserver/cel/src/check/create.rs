//! The check of objects that expressions make, which only those of mutating policies may do.

use super::checker::{Checker, Locals};
use crate::declarations::{Bindings, overloads};
use crate::declared::made;
use crate::syntax::ast::Create;
use crate::types::Type;

/// The function that only expressions of mutating policies may call.
const ESCAPE: &str = "jsonpatch.escapeKey";

impl<'s> Checker<'s> {
    /// Returns the type of an object under construction.
    pub(super) fn create(&mut self, at: usize, create: &Create, locals: &mut Locals<'s>) -> Type<'s> {
        let name = &create.name;
        let Some(found) = made(name).filter(|_| self.patches) else {
            return self.fail(at, format!("undeclared reference to '{name}' (in container '')"));
        };
        for field in &create.fields {
            let value = self.item(field.optional, &field.value, locals);
            let wanted = found.field(&field.name, &field.name);
            let fits = match &wanted {
                Some(wanted) => Bindings::default().fits(wanted, &value),
                // kube-apiserver declares all fields of this type, those without a name of its own without a type.
                None => value.is_unknown(),
            };
            if !fits {
                let wanted = wanted.map_or(String::new(), |wanted| wanted.to_string());
                let name = &field.name;
                self.fail(
                    field.at,
                    format!("expected type of field '{name}' is '{wanted}' but provided type is '{value}'"),
                );
            }
        }
        found
    }

    /// Returns whether expressions may call a function.
    pub(super) fn declares(&self, function: &str) -> bool {
        !overloads(function).is_empty() && (self.patches || function != ESCAPE)
    }
}
