//! sprig's functions that give something else each time: random numbers, keys, certificates, the time that has passed.
//!
//! Upstream has them. A template that uses one changes with each reconcile, and so do the machines that are made of it. Here such a template is parsed, and fails when
//! it is rendered.

use super::{Arguments, Function, Parameter, function, variadic};
use crate::error::Outcome;
use crate::values::{Value, Work};
use Parameter::{Any, Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    function("ago", &[Any], refuse),
    function("bcrypt", &[Text], refuse),
    function("encryptAES", &[Text, Text], refuse),
    function("genPrivateKey", &[Text], refuse),
    function("htpasswd", &[Text, Text], |work, a| {
        if a.text(0).contains(&b':') {
            return work.text(format!("invalid username: {}", a.characters(0)));
        }
        refuse(work, a)
    }),
    function("randInt", &[Int, Int], refuse),
    function("shuffle", &[Text], refuse),
    variadic("buildCustomCert", &[], Any, refuse),
    variadic("genCA", &[], Any, refuse),
    variadic("genCAWithKey", &[], Any, refuse),
    variadic("genSelfSignedCert", &[], Any, refuse),
    variadic("genSelfSignedCertWithKey", &[], Any, refuse),
    variadic("genSignedCert", &[], Any, refuse),
    variadic("genSignedCertWithKey", &[], Any, refuse),
];

fn refuse(_: &mut Work, _: &Arguments) -> Outcome<Value> {
    Err("it would give something else each time, and so replace machines; set a variable to a fixed value instead".into())
}
