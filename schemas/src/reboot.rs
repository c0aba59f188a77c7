//! The annotations that request a reboot of a BareMetalHost, and those of a HostClaim that request one of its host.

use machinery::names;

/// Restarts the machine, or keeps it off (`reboot.metal3.io/<suffix>`) until the annotation is removed.
pub const REBOOT: &str = "reboot.metal3.io";
/// The prefix of the annotations that a HostClaim has set on its host. With it, those of others stay.
pub const OF_CLAIM: &str = "reboot.metal3.io/hostclaim-";
/// Maximum length of the name part of an annotation's key, in bytes.
const NAME_LENGTH: usize = 63;

/// Returns whether the key is a reboot annotation.
pub fn is_reboot(key: &str) -> bool {
    key.strip_prefix(REBOOT).is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('/'))
}

/// Returns the key on the host for a reboot annotation of a HostClaim; `None` if `key` is not one.
///
/// # Errors
/// The key on the host would be invalid, for example too long; the problem, and what to do.
pub fn on_host(key: &str) -> Option<Result<String, String>> {
    let suffix = key.strip_prefix(REBOOT)?;
    if suffix.is_empty() {
        return Some(Ok(REBOOT.to_owned()));
    }
    let key = format!("{OF_CLAIM}{}", suffix.strip_prefix('/')?);
    let problems = names::qualified_name(&key.to_lowercase());
    Some(match problems.first() {
        None => Ok(key),
        Some(problem) => {
            let longest = NAME_LENGTH - (OF_CLAIM.len() - REBOOT.len() - 1);
            Err(format!(
                "the host cannot have the annotation {key} ({problem}): use at most {longest} characters after {REBOOT}/"
            ))
        }
    })
}
