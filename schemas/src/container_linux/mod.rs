//! Container Linux Configs, which are added to bootstrap data in the format `ignition`: read, checked and made into
//! an Ignition 2.3 configuration as by Flatcar's transpiler, which Cluster API uses.

mod check;
mod convert;
mod disks;
mod fields;
mod parts;
mod read;
mod size;
mod units;

use serde_json::Value;

/// The largest bits of a mode.
const MAX_MODE: i64 = 0o7777;

/// Makes an Ignition configuration, without its version, of a Container Linux Config. If it is not `strict`, fields
/// that are not known are left out, and what only deserves a warning is accepted.
///
/// # Errors
/// Names the field that is wrong.
pub fn ignition(text: &str, strict: bool) -> Result<Value, String> {
    let config = read::read(text, fields::CONFIG, strict)?;
    check::check(&config, strict)?;
    convert::convert(config)
}

/// Returns whether a text is a map at all, and not for example a placeholder that a patch replaces.
pub fn is_map(text: &str) -> bool {
    serde_saphyr::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

/// Returns a URL with `content` as its data.
pub fn data_url(content: &[u8]) -> String {
    format!("data:,{}", machinery::url::encode(content))
}

/// Returns the bits of a file mode in octal digits.
///
/// # Errors
/// A sentence that quotes the digits.
pub fn mode(digits: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(digits.trim(), 8).ok().filter(|mode| i64::from(*mode) <= MAX_MODE);
    mode.ok_or_else(|| format!("{digits:?} is not a mode in octal digits, such as 0640"))
}
