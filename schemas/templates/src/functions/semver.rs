//! Semantic versions. What a version can be asked for is in [`super::methods`].

use std::sync::Arc;

use super::{Function, Parameter, constraints, function};
use crate::values::Value;
use crate::values::version::Version;
use Parameter::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    function("semver", &[Text], |work, a| {
        work.bytes(a.text(0).len() * 2)?;
        Ok(Value::Version(Arc::new(Version::parse(&a.characters(0))?)))
    }),
    function("semverCompare", &[Text, Text], |work, a| {
        work.steps(a.text(0).len() / 4)?;
        constraints::fulfils(&a.characters(0), &a.characters(1)).map(Value::Bool)
    }),
];
