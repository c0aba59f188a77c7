//! Kubernetes versions.

use std::cmp::Ordering;
use std::fmt;

/// A semantic version, written with a leading `v`. Build metadata is kept but not compared.
#[derive(Debug, Clone)]
pub struct Version {
    /// Major version.
    pub major: u64,
    /// Minor version.
    pub minor: u64,
    /// Patch version.
    pub patch: u64,
    pre: Vec<String>,
    build: String,
}

impl Version {
    /// Parses `v1.35.0` or `1.35.0-rc.1+build`; `None` if the text is not a semantic version.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().strip_prefix('v').unwrap_or(text.trim());
        let (text, build) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
        let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
        let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
        if parts.next().is_some() {
            return None;
        }
        let pre = pre.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Some(Self { major, minor, patch, pre, build: build.to_owned() })
    }

    /// Creates a release version.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, pre: Vec::new(), build: String::new() }
    }

    /// Returns the version without pre-release and build metadata, for rules such as "from 1.31", which
    /// include pre-releases of 1.31.
    pub fn release(&self) -> Self {
        Self::new(self.major, self.minor, self.patch)
    }

    /// Returns whether the version is `major.minor` or later; pre-releases count.
    pub fn at_least(&self, major: u64, minor: u64) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre.join("."))?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_pre(&self.pre, &other.pre),
        })
    }
}

/// Compares pre-releases by semantic versioning, section 11.4: numbers numerically and before words, words by
/// ASCII, more parts later.
fn compare_pre(left: &[String], right: &[String]) -> Ordering {
    for (a, b) in left.iter().zip(right) {
        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order() {
        let sorted = ["v1.9.0", "v1.31.0-alpha.1", "v1.31.0-alpha.10", "v1.31.0-beta", "v1.31.0", "1.31.1+x"];
        for pair in sorted.windows(2) {
            assert!(Version::parse(pair[0]).unwrap() < Version::parse(pair[1]).unwrap(), "{pair:?}");
        }
        assert_eq!(Version::parse("v1.31.0+a"), Version::parse("v1.31.0+b"));
        assert_eq!(Version::parse("1.31.0-rc.1+b").unwrap().to_string(), "v1.31.0-rc.1+b");
        for bad in ["", "v1", "v1.2", "v1.2.3.4", "v1.x.0", "latest"] {
            assert!(Version::parse(bad).is_none(), "{bad}");
        }
    }
}
