//! The levels that the labels of a namespace choose.

use std::fmt;

use machinery::field::FieldError;
use serde_json::{Map, Value};

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

impl Policy {
    /// Reads the policy of a namespace with these labels, and says which of them are malformed. A malformed level is the strictest one
    /// where pods are refused, and the mildest one elsewhere.
    pub fn of(labels: Option<&Map<String, Value>>) -> (Self, Vec<FieldError>) {
        let mut errors = Vec::new();
        let text = |name: &str| {
            let label = format!("pod-security.kubernetes.io/{name}");
            let value = labels?.get(&label)?.as_str()?.to_owned();
            Some((label, value))
        };
        let mut part = |name: &str, fallback: Level| {
            let mut found = PRIVILEGED;
            let level = text(name);
            if let Some((label, value)) = &level {
                found.level = self::level(value).unwrap_or_else(|| {
                    let why = "must be one of privileged, baseline, restricted";
                    errors.push(invalid(format!("metadata.labels[{label}]"), value.as_str(), why));
                    fallback
                });
            }
            let version = text(&format!("{name}-version"));
            if let Some((label, value)) = &version {
                found.version = self::version(value).unwrap_or_else(|| {
                    let why = "must be \"latest\" or \"v1.x\"";
                    errors.push(invalid(format!("metadata.labels[{label}]"), value.as_str(), why));
                    Version::Latest
                });
            }
            let is_right = level.as_ref().is_some_and(|(_, value)| self::level(value).is_some());
            (found, level.is_some(), version.is_some(), is_right)
        };
        let (enforce, _, _, is_right) = part("enforce", Level::Restricted);
        let (audit, ..) = part("audit", Level::Privileged);
        let (mut warn, has_level, has_version, _) = part("warn", Level::Privileged);
        // Who is refused is also warned, for example of a template whose pods would be refused.
        if !has_level && is_right && enforce.level > warn.level {
            warn.level = enforce.level;
            if !has_version {
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
