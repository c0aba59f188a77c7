//! Regular expressions of Go's dialect (RE2): compiled, shared between schemas, and limited in size.

mod size;
pub mod syntax;

use std::cell::Cell;
use std::sync::{Arc, LazyLock, OnceLock};

use regex::Regex;

pub use self::size::size;
use crate::allowance::{self, Left};
use crate::cache::Cache;
use crate::limits::{MAX_PATTERN_SIZE, MAX_PATTERNS_SIZE, MAX_SHARED_PATTERNS};

/// A pattern that is compiled at its first use. Equality and cloning ignore it, because it derives from the schema.
#[derive(Debug, Default)]
pub struct Matcher(OnceLock<Option<Arc<Regex>>>);

impl Clone for Matcher {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Matcher {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Matcher {
    /// Returns whether the pattern matches somewhere in the text. A pattern that does not compile matches nothing;
    /// CustomResourceDefinitions with such patterns are refused.
    pub fn is_match(&self, pattern: &str, text: &str) -> bool {
        self.0.get_or_init(|| shared(pattern).ok()).as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

/// Compiled patterns of schemas. Many fields have the same pattern, and compiling one takes about a hundred times as
/// long as matching.
static SHARED: LazyLock<Cache<String, Arc<Regex>>> = LazyLock::new(|| Cache::new(MAX_SHARED_PATTERNS));

thread_local! {
    /// The number of states that this thread may still compile, or `None` without a limit.
    static LEFT: Left = const { Cell::new(None) };
}

/// Runs `work` with a limit of [`MAX_PATTERNS_SIZE`] states for all patterns that it compiles. Patterns beyond the
/// limit fail to compile. Inside of work that is limited, the limit is the same one.
pub fn limited<T>(work: impl FnOnce() -> T) -> T {
    allowance::limited(&LEFT, MAX_PATTERNS_SIZE, work)
}

/// Compiles a pattern like [`compile`] and caches it. The cache is for patterns of schemas and rules, not for those of
/// requests.
pub fn shared(pattern: &str) -> Result<Arc<Regex>, Box<regex::Error>> {
    if let Some(found) = SHARED.get(pattern) {
        return Ok(found);
    }
    if let Some(left) = LEFT.get() {
        let left = left.checked_sub(size(pattern)).ok_or_else(too_large)?;
        LEFT.set(Some(left));
    }
    let regex = Arc::new(compile(pattern)?);
    SHARED.keep(pattern.to_owned(), regex.clone());
    Ok(regex)
}

fn too_large() -> Box<regex::Error> {
    Box::new(regex::Error::CompiledTooBig(usize::try_from(MAX_PATTERN_SIZE).unwrap_or(usize::MAX)))
}

/// Compiles a pattern of Go's dialect (RE2). It quotes the text in `\Q...\E` itself, and restricts classes (`\d`, `\w`,
/// `\s`) to ASCII, as in Go. `\z` has the same meaning in both dialects.
///
/// # Errors
/// The pattern is invalid, or larger than [`MAX_PATTERN_SIZE`].
pub fn compile(pattern: &str) -> Result<Regex, Box<regex::Error>> {
    if size(pattern) > MAX_PATTERN_SIZE {
        return Err(too_large());
    }
    let mut written = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(start) = rest.find(r"\Q") {
        written.push_str(&rest[..start]);
        let quoted = &rest[start + 2..];
        let (quoted, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
        written.push_str(&regex::escape(quoted));
        rest = after;
    }
    written.push_str(rest);
    for (class, ascii) in [(r"\d", "0-9"), (r"\w", "0-9A-Za-z_"), (r"\s", r"\t\n\f\r ")] {
        written = ascii_class(&written, class, ascii);
    }
    Regex::new(&written).map_err(Box::new)
}

/// Returns Go's message for a pattern that does not compile, or `None` if it compiles.
pub fn problem(pattern: &str) -> Option<String> {
    if pattern.is_empty() {
        return None;
    }
    if let Some(error) = syntax::error(pattern) {
        return Some(error);
    }
    let error = shared(pattern).err()?;
    Some(match *error {
        regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
        _ => format!("invalid or unsupported syntax: `{pattern}`"),
    })
}

/// Replaces a Unicode class by its ASCII members, inside and outside of brackets.
fn ascii_class(pattern: &str, class: &str, ascii: &str) -> String {
    let letter = class.as_bytes()[1];
    let upper = letter.to_ascii_uppercase();
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut in_brackets = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next) if next as u32 == u32::from(letter) => {
                    out.push_str(&if in_brackets { ascii.to_owned() } else { format!("[{ascii}]") });
                }
                Some(next) if next as u32 == u32::from(upper) => out.push_str(&format!("[^{ascii}]")),
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => out.push('\\'),
            },
            '[' if in_brackets && chars.peek() == Some(&':') => {
                // `[:alpha:]` has its own closing bracket.
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if out.ends_with(":]") {
                        break;
                    }
                }
            }
            '[' if in_brackets => out.push_str(r"\["),
            '[' => {
                in_brackets = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
                if chars.peek() == Some(&']') {
                    chars.next();
                    out.push_str(r"\]");
                }
            }
            ']' => {
                in_brackets = false;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}
