//! The levels that the labels of a namespace choose.

use std::fmt;

use machinery::field::FieldError;

use crate::fields::invalid;

/// How much a pod may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything.
    Privileged,
    /// Nothing that is known to lead to the node.
    Baseline,
    /// Only what is needed.
    Restricted,
}

/// The version of Kubernetes whose checks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// That of the server.
    Latest,
    /// `v1.` and this number.
    Minor(u32),
}

impl Version {
    pub(super) fn minor(self) -> u32 {
        match self {
            Self::Latest => u32::MAX,
            Self::Minor(minor) => minor,
        }
    }
}

/// A level in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelVersion {
    /// The level.
    pub level: Level,
    /// The version of its checks.
    pub version: Version,
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        })?;
        match self.version {
            Version::Latest => f.write_str(":latest"),
            Version::Minor(minor) => write!(f, ":v1.{minor}"),
        }
    }
}

const PRIVILEGED: LevelVersion = LevelVersion { level: Level::Privileged, version: Version::Latest };

/// What a namespace refuses, and about what it warns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Pods that break it are refused.
    pub enforce: LevelVersion,
    /// Pods that break it are named in the audit log.
    pub audit: LevelVersion,
    /// Clients are warned of pods that break it.
    pub warn: LevelVersion,
}

/// The keys of the two labels of one part of a policy.
#[derive(Clone, Copy)]
struct Keys {
    level: &'static str,
    version: &'static str,
}

const ENFORCE: Keys = Keys {
    level: "pod-security.kubernetes.io/enforce",
    version: "pod-security.kubernetes.io/enforce-version",
};
const AUDIT: Keys =
    Keys { level: "pod-security.kubernetes.io/audit", version: "pod-security.kubernetes.io/audit-version" };
const WARN: Keys =
    Keys { level: "pod-security.kubernetes.io/warn", version: "pod-security.kubernetes.io/warn-version" };

impl Policy {
    /// Reads the policy of a namespace, whose labels `label` finds by their keys, and says which of them are malformed. A malformed level
    /// is the strictest one where pods are refused, and the mildest one elsewhere.
    pub fn of<'l>(label: impl Fn(&str) -> Option<&'l str>) -> (Self, Vec<FieldError>) {
        let mut errors = Vec::new();
        let mut wrong = |key: &str, value: &str, why: &str| {
            errors.push(invalid(format!("metadata.labels[{key}]"), value, why));
        };
        let mut part = |keys: Keys, fallback: Level| {
            let mut found = PRIVILEGED;
            if let Some(value) = label(keys.level) {
                found.level = level(value).unwrap_or_else(|| {
                    wrong(keys.level, value, "must be one of privileged, baseline, restricted");
                    fallback
                });
            }
            if let Some(value) = label(keys.version) {
                found.version = version(value).unwrap_or_else(|| {
                    wrong(keys.version, value, "must be \"latest\" or \"v1.x\"");
                    Version::Latest
                });
            }
            found
        };
        let enforce = part(ENFORCE, Level::Restricted);
        let audit = part(AUDIT, Level::Privileged);
        let mut warn = part(WARN, Level::Privileged);
        // Who is refused is also warned, for example of a template whose pods would be refused, but not because a level is malformed.
        let is_right = || label(ENFORCE.level).and_then(level).is_some();
        if enforce.level > Level::Privileged && label(WARN.level).is_none() && is_right() {
            warn.level = enforce.level;
            if label(WARN.version).is_none() {
                warn.version = enforce.version;
            }
        }
        (Self { enforce, audit, warn }, errors)
    }
}

fn level(text: &str) -> Option<Level> {
    match text {
        "privileged" => Some(Level::Privileged),
        "baseline" => Some(Level::Baseline),
        "restricted" => Some(Level::Restricted),
        _ => None,
    }
}

fn version(text: &str) -> Option<Version> {
    if text == "latest" {
        return Some(Version::Latest);
    }
    let minor = text.strip_prefix("v1.")?;
    let is_number =
        minor == "0" || !minor.starts_with('0') && minor.bytes().all(|byte| byte.is_ascii_digit());
    minor.parse().ok().filter(|_| is_number).map(Version::Minor)
}
