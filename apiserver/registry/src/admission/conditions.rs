//! Compiled `matchConditions`.

use cel::program::{Answer, Environment, Expected, Input, Program};
use serde_json::Value;

/// Compiled `matchConditions`, each with its text.
pub(crate) struct Conditions(Vec<(String, Result<Program, String>)>);

impl Conditions {
    pub(crate) fn of(holder: &Value, environment: &Environment) -> Self {
        let list = holder["matchConditions"].as_array().into_iter().flatten();
        Self(
            list.map(|condition| {
                let source = condition["expression"].as_str().unwrap_or_default();
                (source.to_owned(), Program::compile(source.trim(), environment, Expected::Boolean))
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
        for (source, program) in &self.0 {
            let answer = match program {
                Ok(program) => {
                    let answer = input.evaluate(&[], &[program]).pop();
                    answer.map(|found| {
                        found.map_err(|why| format!("expression '{source}' resulted in error: {why}"))
                    })
                }
                Err(why) => Some(Err(format!("compilation error: {why}"))),
            };
            match answer {
                Some(Ok(Answer::Boolean(true))) => {}
                Some(Ok(Answer::Boolean(false))) => return Ok(false),
                Some(Err(why)) => failures.push(why),
                _ => failures.push(format!("expression '{source}' did not evaluate to a boolean")),
            }
        }
        match failures.len() {
            0 => Ok(true),
            1 => Err(failures.remove(0)),
            _ => Err(format!("[{}]", failures.join(", "))),
        }
    }
}
