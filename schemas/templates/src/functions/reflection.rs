//! The types of values.

use super::{Function, Parameter, function};
use crate::values::Value;
use Parameter::{Any, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    function("typeOf", &[Any], |work, a| work.text(a.value(0).type_name())),
    function("typeIs", &[Text, Any], |_, a| Ok(Value::Bool(a.text(0) == a.value(1).type_name().as_bytes()))),
    function("typeIsLike", &[Text, Any], |_, a| {
        let name = a.value(1).type_name().as_bytes();
        Ok(Value::Bool(a.text(0) == name || Some(a.text(0)) == name.strip_prefix(b"*")))
    }),
    function("kindOf", &[Any], |work, a| work.text(a.value(0).kind_name())),
    function("kindIs", &[Text, Any], |_, a| Ok(Value::Bool(a.text(0) == a.value(1).kind_name().as_bytes()))),
];
