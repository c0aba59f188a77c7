//! The ranges and the accumulators of macros.

use crate::functions::show;
use crate::syntax::ast::MacroKind;
use crate::values::{Failure, NO_OVERLOAD, Outcome, Val};

/// Returns the cost of adding one result to the accumulator: reading it, the call that adds, and the added list or
/// entry.
pub(super) fn step_cost(kind: MacroKind, chosen: bool) -> u64 {
    match (kind, chosen) {
        (MacroKind::All | MacroKind::Exists, _) => 1,
        (MacroKind::ExistsOne, chosen) => 2 * u64::from(chosen),
        (MacroKind::Filter, chosen) => 13 * u64::from(chosen),
        (MacroKind::TransformMap, _) => 3,
        (MacroKind::TransformMapEntry, _) => 2,
        _ => 12,
    }
}

/// The accumulator of a macro.
#[derive(Default)]
pub(super) struct Fold<'a> {
    /// Whether the result is final, whatever the remaining items are.
    pub(super) decided: bool,
    found: usize,
    failure: Option<Failure>,
    items: Vec<Val<'a>>,
    entries: Vec<(Val<'a>, Val<'a>)>,
}

impl<'a> Fold<'a> {
    /// Adds one result.
    pub(super) fn step(
        &mut self,
        kind: MacroKind,
        first: Val<'a>,
        result: Outcome<'a>,
    ) -> Result<(), Failure> {
        match (kind, result) {
            (MacroKind::All, Ok(Val::Bool(false))) | (MacroKind::Exists, Ok(Val::Bool(true))) => {
                self.found += 1;
                self.decided = true;
            }
            (MacroKind::All | MacroKind::Exists, Ok(Val::Bool(_))) => {}
            // An error only counts if no other item decides.
            (MacroKind::All | MacroKind::Exists, Err(failure)) => {
                self.failure.get_or_insert(failure);
            }
            (MacroKind::ExistsOne, Ok(Val::Bool(flag))) => self.found += usize::from(flag),
            (MacroKind::Filter, Ok(Val::Bool(flag))) => {
                if flag {
                    self.items.push(first);
                }
            }
            (MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne | MacroKind::Filter, Ok(_)) => {
                return Err(NO_OVERLOAD);
            }
            (MacroKind::TransformMap, Ok(value)) => self.entries.push((first, value)),
            (MacroKind::TransformMapEntry, Ok(value)) => {
                for (key, value) in value.entries().ok_or(NO_OVERLOAD)? {
                    if self.entries.iter().any(|(found, _)| found.equals(&key)) {
                        return Err(format!("insert failed: key {} already exists", show(&key)).into());
                    }
                    self.entries.push((key, value));
                }
            }
            (_, Ok(value)) => self.items.push(value),
            (_, Err(failure)) => return Err(failure),
        }
        Ok(())
    }

    pub(super) fn finish(self, kind: MacroKind) -> Outcome<'a> {
        match kind {
            MacroKind::All | MacroKind::Exists => match (self.found, self.failure) {
                (0, Some(failure)) => Err(failure),
                (found, _) => Ok(Val::Bool((found > 0) == (kind == MacroKind::Exists))),
            },
            MacroKind::ExistsOne => Ok(Val::Bool(self.found == 1)),
            MacroKind::TransformMap | MacroKind::TransformMapEntry => Ok(Val::map(self.entries)),
            _ => Ok(Val::list(self.items)),
        }
    }
}

/// Returns the pairs that a macro ranges over. With `two` variables they are index and item, or key and value;
/// otherwise the first is the item or the key.
pub(super) fn pairs<'a>(target: &Val<'a>, two: bool) -> Result<Vec<(Val<'a>, Val<'a>)>, Failure> {
    if let Some(items) = target.items() {
        let pair = |(i, item): (usize, Val<'a>)| {
            if two { (Val::Int(i as i64), item) } else { (item, Val::Null) }
        };
        return Ok(items.into_iter().enumerate().map(pair).collect());
    }
    target.entries().ok_or_else(|| {
        let kind = match target {
            Val::Null => "Null",
            Val::Bool(_) => "Bool",
            Val::Int(_) => "Int",
            Val::Uint(_) => "Uint",
            Val::Double(_) => "Double",
            Val::Text(_) => "String",
            Val::Bytes(_) => "Bytes",
            Val::Duration(_) => "Duration",
            Val::Timestamp(_) => "Timestamp",
            _ => "Value",
        };
        format!("got 'types.{kind}', expected iterable type").into()
    })
}
