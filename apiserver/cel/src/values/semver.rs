//! Semantic versions with the parsing rules of `blang/semver`.

use std::cmp::Ordering;

use semver::Prerelease;

/// A semantic version without its build metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Semver {
    /// Major, minor and patch.
    pub numbers: [u64; 3],
    pre: Prerelease,
}

impl Semver {
    /// Parses a version such as `1.2.3-rc.1+build`. With `normalize`, it also accepts forms such as `v1.2`.
    ///
    /// # Errors
    /// The message of kube-apiserver.
    pub fn parse(text: &str, normalize: bool) -> Result<Self, String> {
        let mut plain = text.to_owned();
        if normalize {
            plain = plain.trim().trim_start_matches('v').to_owned();
            let end = plain.find(['-', '+']).unwrap_or(plain.len());
            let (core, rest) = plain.split_at(end);
            let mut parts: Vec<String> = core
                .split('.')
                .map(|part| {
                    let digits = part.trim_start_matches('0');
                    if digits.is_empty() && !part.is_empty() { "0".into() } else { digits.to_owned() }
                })
                .collect();
            while parts.len() < 3 {
                parts.push("0".into());
            }
            plain = parts.join(".") + rest;
        }
        if plain.is_empty() {
            return Err("Version string empty".into());
        }
        let mut parts = plain.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let numbers = [number("Major", major)?, number("Minor", minor)?, number("Patch", patch)?];
        let word =
            |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
        let parts = || pre.into_iter().flat_map(|pre| pre.split('.'));
        if let Some(bad) = parts().find(|part| !word(part)) {
            return Err(format!("Invalid character(s) found in prerelease {bad:?}"));
        }
        let padded =
            |part: &&str| part.len() > 1 && part.starts_with('0') && part.bytes().all(|c| c.is_ascii_digit());
        if let Some(bad) = parts().find(padded) {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {bad:?}"));
        }
        if build.is_some_and(|build| !build.split('.').all(word)) {
            return Err("Build meta data is empty".into());
        }
        let pre = Prerelease::new(pre.unwrap_or_default()).map_err(|error| error.to_string())?;
        Ok(Self { numbers, pre })
    }

    /// Compares the precedence of two versions.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| self.pre.cmp(&other.pre))
    }
}

fn number(which: &str, text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|c| c.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {} number \"{text}\"", which.to_lowercase()));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{which} number must not contain leading zeroes \"{text}\""));
    }
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing \"{text}\": value out of range"))
}
