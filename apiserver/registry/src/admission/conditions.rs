//! Compiled `matchConditions`.

use cel::program::{Answer, Environment, Expected, Input, Program};
use serde_json::Value;

/// Compiled `matchConditions`, each with its name.
pub(crate) struct Conditions(Vec<(String, Result<Program, String>)>);

impl Conditions {
    pub(crate) fn of(holder: &Value, environment: &Environment) -> Self {
        let list = holder["matchConditions"].as_array().into_iter().flatten();
        Self(
            list.map(|condition| {
                let source = condition["expression"].as_str().unwrap_or_default();
                let name = condition["name"].as_str().unwrap_or_default().to_owned();
                (name, Program::compile(source.trim(), environment, Expected::Boolean))
            })
            .collect(),
        )
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether all conditions are true. A false condition takes precedence over conditions that fail.
    pub(crate) fn hold(&self, input: &Input<'_>) -> Result<bool, String> {
        let mut failures = Vec::new();
        for (name, program) in &self.0 {
            let answer = match program {
                Ok(program) => input.evaluate(&[], &[program]).pop(),
                Err(why) => Some(Err(why.clone())),
            };
            match answer {
                Some(Ok(Answer::Boolean(true))) => {}
                Some(Ok(Answer::Boolean(false))) => return Ok(false),
                Some(Err(why)) => failures.push(format!("expression '{name}' resulted in error: {why}")),
                _ => failures.push(format!("expression '{name}' did not evaluate to a boolean")),
            }
        }
        if failures.is_empty() { Ok(true) } else { Err(failures.join(", ")) }
    }
}
