//! Constraints of versions, as the package `github.com/Masterminds/semver` reads and checks them.
//!
//! A prerelease only fulfils a group of constraints of which one names a prerelease.

use std::cmp::Ordering;

use crate::error::Outcome;
use crate::values::version::{Version, compare_prereleases, is_identifiers};

/// Whether the version fulfils the constraints: all of one of the groups, which `||` separates.
pub(super) fn fulfils(constraints: &str, version: &str) -> Outcome<bool> {
    let rewritten = with_ranges(constraints);
    let mut groups = Vec::new();
    for group in rewritten.split("||") {
        groups.push(parse_group(group)?);
    }
    let version = Version::parse(version)?;
    Ok(groups.iter().any(|group| {
        let prereleases = group.iter().any(|constraint| !constraint.version.prerelease.is_empty());
        let considered = version.prerelease.is_empty() || prereleases;
        considered && group.iter().all(|constraint| constraint.allows(&version))
    }))
}

/// The parts of a version in a constraint, as they are written.
#[derive(Debug, Clone, Copy)]
struct Written<'a> {
    whole: &'a str,
    parts: [&'a str; 3],
    prerelease: &'a str,
}

/// Reads a version at the beginning, and returns what is after it.
fn written(text: &str) -> Option<(Written<'_>, &str)> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, 'x' | 'X' | '*' | '|');
    let start = text.strip_prefix('v').unwrap_or(text);
    let mut rest = start;
    let mut parts = [""; 3];
    for (position, part) in parts.iter_mut().enumerate() {
        let digits = match position {
            0 => rest,
            _ => match rest.strip_prefix('.') {
                Some(digits) if digits.starts_with(is_part) => digits,
                _ => break,
            },
        };
        let length = digits.find(|c| !is_part(c)).unwrap_or(digits.len());
        (*part, rest) = digits.split_at(length);
    }
    if parts[0].is_empty() {
        return None;
    }
    let (prerelease, after) = suffix(rest, '-');
    let (_, after) = suffix(after, '+');
    let whole = &text[..text.len() - after.len()];
    Some((Written { whole, parts, prerelease }, after))
}

/// The identifiers after a mark, without it, and what is after them.
fn suffix(text: &str, mark: char) -> (&str, &str) {
    let Some(rest) = text.strip_prefix(mark) else { return ("", text) };
    let length =
        rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.').unwrap_or(rest.len());
    let identifiers = rest[..length].trim_end_matches('.');
    if is_identifiers(identifiers) { rest.split_at(identifiers.len()) } else { ("", text) }
}

/// `1.2 - 2.3` becomes `>= 1.2, <= 2.3`.
fn with_ranges(text: &str) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some(start) =
        rest.find(|c: char| c == 'v' || c.is_ascii_digit() || matches!(c, 'x' | 'X' | '*' | '|'))
    {
        let (before, from) = rest.split_at(start);
        output.push_str(before);
        if let Some((low, high, after)) = range(from) {
            let trimmed = output.trim_end().len();
            output.truncate(trimmed);
            output.push_str(&format!(">= {}, <= {} ", low.whole, high.whole));
            rest = after.trim_start();
        } else {
            let length = written(from).map_or(1, |(found, _)| found.whole.len());
            output.push_str(&from[..length]);
            rest = &from[length..];
        }
    }
    output.push_str(rest);
    output
}

fn range(text: &str) -> Option<(Written<'_>, Written<'_>, &str)> {
    let (low, rest) = written(text)?;
    let middle = rest.trim_start().strip_prefix('-').filter(|_| rest.starts_with(char::is_whitespace))?;
    let (high, after) = written(middle.trim_start()).filter(|_| middle.starts_with(char::is_whitespace))?;
    Some((low, high, after))
}

/// What a version is compared to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The operators, longer ones first.
const OPERATORS: &[(&str, Operator)] = &[
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

/// A constraint. What is not written, or is an `x`, is open.
#[derive(Debug)]
struct Constraint {
    operator: Operator,
    version: Version,
    open: bool,
    minor_open: bool,
    patch_open: bool,
}

/// Constraints with white space or commas between them.
fn parse_group(group: &str) -> Outcome<Vec<Constraint>> {
    let wrong = || format!("{group:?} is no constraint for versions");
    let mut constraints = Vec::new();
    let mut rest = group.trim_start();
    loop {
        let found = OPERATORS.iter().find_map(|(text, operator)| Some((*operator, rest.strip_prefix(text)?)));
        let (operator, after) = found.unwrap_or((Operator::Equal, rest));
        let (version, after) = written(after.trim_start()).ok_or_else(wrong)?;
        constraints.push(Constraint::new(operator, version).ok_or_else(wrong)?);
        let next = after.trim_start();
        if next.is_empty() {
            return Ok(constraints);
        }
        rest = match next.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if next.len() < after.len() => next,
            None => return Err(wrong().into()),
        };
    }
}

fn is_open(part: &str) -> bool {
    matches!(part, "" | "x" | "X" | "*")
}

impl Constraint {
    fn new(operator: Operator, written: Written<'_>) -> Option<Constraint> {
        let [major, minor, patch] = written.parts;
        let major_open = is_open(major);
        let minor_open = !major_open && is_open(minor);
        let patch_open = !major_open && !minor_open && is_open(patch);
        let suffix = match written.prerelease {
            "" => String::new(),
            prerelease => format!("-{prerelease}"),
        };
        let text = match (major_open, minor_open, patch_open) {
            (true, ..) => format!("0.0.0{suffix}"),
            (_, true, _) => format!("{major}.0.0{suffix}"),
            (_, _, true) => format!("{major}.{minor}.0{suffix}"),
            _ => written.whole.to_owned(),
        };
        let version = Version::parse(&text).ok()?;
        let open = major_open || minor_open || patch_open;
        Some(Constraint { operator, version, open, minor_open, patch_open })
    }

    fn allows(&self, version: &Version) -> bool {
        let order = version.compare(&self.version);
        match self.operator {
            Operator::Equal if self.open => self.allows_near(version),
            Operator::Equal => order == Ordering::Equal,
            Operator::NotEqual => self.allows_other(version),
            Operator::Greater => self.allows_later(version),
            Operator::Less => order == Ordering::Less,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::LessOrEqual if self.open => {
                version.major < self.version.major
                    || version.major == self.version.major
                        && (version.minor <= self.version.minor || self.minor_open)
            }
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Tilde => self.allows_near(version),
            Operator::Caret => self.allows_compatible(version),
        }
    }

    fn allows_other(&self, version: &Version) -> bool {
        if !self.open || version.major != self.version.major {
            return version.compare(&self.version) != Ordering::Equal;
        }
        if self.minor_open {
            return false;
        }
        if version.minor != self.version.minor {
            return true;
        }
        if self.patch_open {
            return compare_prereleases(&version.prerelease, &self.version.prerelease) != Ordering::Equal;
        }
        version.patch != self.version.patch || version.compare(&self.version) != Ordering::Equal
    }

    fn allows_later(&self, version: &Version) -> bool {
        if !self.open || version.major != self.version.major {
            return version.compare(&self.version) == Ordering::Greater;
        }
        if self.minor_open {
            return false;
        }
        if self.patch_open {
            return version.minor > self.version.minor;
        }
        version.compare(&self.version) == Ordering::Greater
    }

    /// `~1.2.3`: not earlier, with the same minor version. `~1`: with the same major version.
    fn allows_near(&self, version: &Version) -> bool {
        if version.compare(&self.version) == Ordering::Less {
            return false;
        }
        let wanted = &self.version;
        let zero = (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0);
        if zero && !self.minor_open && !self.patch_open {
            return true;
        }
        version.major == wanted.major && (version.minor == wanted.minor || self.minor_open)
    }

    /// `^1.2.3`: not earlier, with the same first number that is not zero.
    fn allows_compatible(&self, version: &Version) -> bool {
        if version.compare(&self.version) == Ordering::Less {
            return false;
        }
        let wanted = &self.version;
        if wanted.major > 0 || self.minor_open {
            return version.major == wanted.major;
        }
        if version.major > 0 {
            return false;
        }
        if wanted.minor > 0 || self.patch_open {
            return version.minor == wanted.minor;
        }
        version.minor == 0 && version.patch == wanted.patch
    }
}
