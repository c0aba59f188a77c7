//! Semantic versions as the package `github.com/Masterminds/semver` reads them: parts may be missing, and a `v` may stand before them.

use std::cmp::Ordering;
use std::fmt;

use crate::error::Outcome;

/// A version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) prerelease: String,
    pub(crate) metadata: String,
    /// The text that was read.
    pub(crate) original: String,
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(formatter, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(formatter, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl Version {
    /// Reads a version.
    pub(crate) fn parse(text: &str) -> Outcome<Version> {
        let wrong = || format!("{text:?} is no semantic version");
        let (rest, metadata) = match text.split_once('+') {
            Some((rest, metadata)) if is_identifiers(metadata) => (rest, metadata),
            Some(_) => return Err(wrong().into()),
            None => (text, ""),
        };
        let (numbers, prerelease) = match rest.split_once('-') {
            Some((numbers, prerelease)) if is_prerelease(prerelease) => (numbers, prerelease),
            Some(_) => return Err(wrong().into()),
            None => (rest, ""),
        };
        let numbers = numbers.strip_prefix('v').unwrap_or(numbers);
        let parts: Vec<&str> = numbers.split('.').collect();
        if parts.len() > 3 {
            return Err(wrong().into());
        }
        let mut parsed = [0; 3];
        for (number, part) in parsed.iter_mut().zip(parts) {
            let plain = part.bytes().all(|byte| byte.is_ascii_digit());
            *number = part.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
        }
        let [major, minor, patch] = parsed;
        let (prerelease, metadata) = (prerelease.to_owned(), metadata.to_owned());
        Ok(Version { major, minor, patch, prerelease, metadata, original: text.to_owned() })
    }

    /// Compares two versions. Metadata does not count.
    pub(crate) fn compare(&self, other: &Version) -> Ordering {
        let numbers = |version: &Version| (version.major, version.minor, version.patch);
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| compare_prereleases(&self.prerelease, &other.prerelease))
    }

    /// The version after this one, with the `v` of this one.
    pub(crate) fn next(&self, major: u64, minor: u64, patch: u64) -> Version {
        let mut next = Version {
            major,
            minor,
            patch,
            prerelease: String::new(),
            metadata: String::new(),
            original: String::new(),
        };
        next.original = format!("{}{next}", if self.original.starts_with('v') { "v" } else { "" });
        next
    }
}

/// Identifiers of letters, digits and `-`, with points between them.
pub(crate) fn is_identifiers(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
}

/// Identifiers, of which numbers have no zero before them.
pub(crate) fn is_prerelease(text: &str) -> bool {
    let is_padded = |part: &str| {
        part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    is_identifiers(text) && !text.split('.').any(is_padded)
}

/// Compares what comes after the `-`. A version without it is the later one.
pub(crate) fn compare_prereleases(one: &str, two: &str) -> Ordering {
    match (one.is_empty(), two.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut ones, mut twos) = (one.split('.'), two.split('.'));
    loop {
        let order = match (ones.next(), twos.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(one), Some(two)) => match (one.parse::<u64>(), two.parse::<u64>()) {
                (Ok(one), Ok(two)) => one.cmp(&two),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => one.cmp(two),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}
