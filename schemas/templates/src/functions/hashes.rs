//! Hashes, as hexadecimal digits.

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512, digest};

use super::{Arguments, Function, Parameter, function};
use crate::error::Outcome;
use crate::values::{Value, Work};
use Parameter::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    function("sha1sum", &[Text], |work, a| hash(work, a, &SHA1_FOR_LEGACY_USE_ONLY)),
    function("sha256sum", &[Text], |work, a| hash(work, a, &SHA256)),
    function("sha512sum", &[Text], |work, a| hash(work, a, &SHA512)),
    function("adler32sum", &[Text], |work, a| {
        work.steps(a.text(0).len() / 64)?;
        let (low, high) = a.text(0).iter().fold((1u32, 0u32), |(low, high), byte| {
            let low = (low + u32::from(*byte)) % 65521;
            (low, (high + low) % 65521)
        });
        work.text((high << 16 | low).to_string())
    }),
];

fn hash(work: &mut Work, a: &Arguments, algorithm: &'static Algorithm) -> Outcome<Value> {
    work.steps(a.text(0).len() / 64)?;
    let hash = digest(algorithm, a.text(0));
    work.text(hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
