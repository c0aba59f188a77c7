//! Regular expressions of Go's dialect (RE2): compiled, shared between schemas, and limited in size.
//!
//! [`syntax`] reads a pattern as Go does, into a tree. Only the search for what a tree describes comes from the crate
//! `regex-automata`, so nothing of another dialect has a meaning here.

mod alphabet;
mod build;
mod search;
pub mod syntax;

use std::cell::Cell;
use std::sync::{Arc, LazyLock, OnceLock};

pub use self::search::{Pattern, Search};
pub use self::syntax::{Error, Tree, parse};
use crate::allowance::{self, Left};
use crate::cache::Cache;
use crate::limits::{MAX_PATTERNS_SIZE, MAX_SHARED_PATTERNS};

/// A pattern that is compiled at its first use. Equality and cloning ignore it, because it derives from the schema.
#[derive(Debug, Default)]
pub struct Matcher(OnceLock<Option<Arc<Pattern>>>);

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
        self.0.get_or_init(|| shared(pattern).ok()).as_ref().is_some_and(|pattern| pattern.is_match(text))
    }
}

/// Compiled patterns of schemas. Many fields have the same pattern, and compiling one takes about a hundred times as
/// long as matching.
static SHARED: LazyLock<Cache<String, Arc<Pattern>>> = LazyLock::new(|| Cache::new(MAX_SHARED_PATTERNS));

thread_local! {
    /// What this thread may still compile, or `None` without a limit.
    static LEFT: Left = const { Cell::new(None) };
}

/// Runs `work` with a limit of [`MAX_PATTERNS_SIZE`] for the sizes of all patterns that it compiles. Patterns beyond
/// the limit fail to compile. Inside of work that is limited, the limit is the same one.
pub fn limited<T>(work: impl FnOnce() -> T) -> T {
    allowance::limited(&LEFT, MAX_PATTERNS_SIZE, work)
}

/// Compiles a pattern like [`compile`] and caches it. The cache is for patterns of schemas and rules, not for those of
/// requests.
///
/// # Errors
/// As for [`compile`]; also, the patterns of the limited work together are too large.
pub fn shared(pattern: &str) -> Result<Arc<Pattern>, Error> {
    if let Some(found) = SHARED.get(pattern) {
        return Ok(found);
    }
    let tree = parse(pattern)?;
    if let Some(left) = LEFT.get() {
        let left = left.checked_sub(tree.size()).ok_or_else(|| Error::too_large(pattern))?;
        LEFT.set(Some(left));
    }
    let compiled = Arc::new(tree.compile(pattern)?);
    SHARED.keep(pattern.to_owned(), compiled.clone());
    Ok(compiled)
}

/// Compiles a pattern.
///
/// # Errors
/// The pattern is invalid, or larger than [`MAX_PATTERN_SIZE`](crate::limits::MAX_PATTERN_SIZE).
pub fn compile(pattern: &str) -> Result<Pattern, Error> {
    parse(pattern)?.compile(pattern)
}

impl Tree {
    /// Builds the program of the tree of a pattern.
    ///
    /// # Errors
    /// It is too large.
    pub fn compile(self, pattern: &str) -> Result<Pattern, Error> {
        let (regex, alphabet) = build::build(&self, pattern)?;
        Ok(Pattern::new(regex, alphabet, self))
    }
}

/// Returns Go's message for a pattern that does not compile, without `error parsing regexp`, or `None` if it compiles.
pub fn problem(pattern: &str) -> Option<String> {
    if pattern.is_empty() {
        return None;
    }
    shared(pattern).err().map(|error| error.to_string())
}
