//! The construction of objects.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::run::Run;
use super::scope::Scope;
use crate::cost::actual;
use crate::syntax::ast::{Create, Expr};
use crate::values::{Made, Outcome, Val};

impl Run {
    /// Evaluates the fields of an object and makes it. Of a field that is written twice, the last value counts.
    pub(super) fn create<'a>(&self, expr: &Expr, create: &Create, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        let mut fields: BTreeMap<Arc<str>, Val<'a>> = BTreeMap::new();
        for field in &create.fields {
            match (field.optional, self.eval(&field.value, scope)?) {
                (true, Val::Optional(None)) => drop(fields.remove(&field.name)),
                (true, Val::Optional(Some(value))) => {
                    fields.insert(field.name.clone(), (*value).clone());
                }
                (_, value) => {
                    fields.insert(field.name.clone(), value);
                }
            }
        }
        self.charge(actual::made(expr));
        Ok(Val::Made(Rc::new(Made::new(create.name.clone(), fields)?)))
    }
}
