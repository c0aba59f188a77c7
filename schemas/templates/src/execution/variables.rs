//! The variables of a template.

use std::sync::Arc;

use crate::values::Value;

/// The variables that are declared, the newest last.
#[derive(Debug)]
pub(super) struct Variables {
    values: Vec<(Arc<str>, Value)>,
}

impl Variables {
    /// Only `$`.
    pub(super) fn new(dollar: Value) -> Variables {
        Variables { values: vec![(Arc::from("$"), dollar)] }
    }

    pub(super) fn declare(&mut self, name: Arc<str>, value: Value) {
        self.values.push((name, value));
    }

    /// Sets the newest variable of that name. Returns whether there is one.
    pub(super) fn assign(&mut self, name: &str, value: Value) -> bool {
        let variable = self.values.iter_mut().rev().find(|(known, _)| &**known == name);
        variable.map(|(_, known)| *known = value).is_some()
    }

    /// Sets the newest variable (1), or the one before it (2).
    pub(super) fn set_from_top(&mut self, from_top: usize, value: Value) {
        let position = self.values.len().checked_sub(from_top);
        if let Some((_, known)) = position.and_then(|position| self.values.get_mut(position)) {
            *known = value;
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().rev().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    /// The number of variables, for [`Variables::forget`].
    pub(super) fn mark(&self) -> usize {
        self.values.len()
    }

    /// Forgets the variables that were declared after the mark.
    pub(super) fn forget(&mut self, mark: usize) {
        self.values.truncate(mark);
    }
}
