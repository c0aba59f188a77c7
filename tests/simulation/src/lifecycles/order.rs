//! Lines that occur in an order, among others. Pure functions.
//!
//! A pattern is a line in which `$name` stands for the name of an object, the same one wherever it occurs, and `...` for any text.

use std::collections::BTreeMap;

/// Returns whether the pattern matches the whole line.
pub fn is_like(pattern: &str, line: &str) -> bool {
    matches(pattern, line, &mut BTreeMap::new())
}

/// Returns the first pattern that does not match any line after the one that the pattern before it matched.
pub fn missing<'p, 'l>(patterns: &'p str, lines: impl IntoIterator<Item = &'l str>) -> Option<&'p str> {
    let mut names = BTreeMap::new();
    let mut rest = lines.into_iter();
    for pattern in patterns.lines().map(str::trim).filter(|pattern| !pattern.is_empty()) {
        let found = rest.find_map(|line| {
            let mut trial = names.clone();
            matches(pattern, line, &mut trial).then_some(trial)
        });
        match found {
            Some(bound) => names = bound,
            None => return Some(pattern),
        }
    }
    None
}

/// Returns whether the whole text matches, and binds the names of the pattern that are free. Different names stand for different objects.
fn matches<'t>(pattern: &str, text: &'t str, names: &mut BTreeMap<String, &'t str>) -> bool {
    if let Some(rest) = pattern.strip_prefix("...") {
        let ends = text.char_indices().map(|(index, _)| index).chain([text.len()]);
        for end in ends {
            let mut trial = names.clone();
            if matches(rest, &text[end..], &mut trial) {
                *names = trial;
                return true;
            }
        }
        return false;
    }
    if let Some(rest) = pattern.strip_prefix('$') {
        let (name, rest) = rest.split_at(word(rest, |char| char.is_ascii_alphanumeric()));
        let (found, left) =
            text.split_at(word(text, |char| char.is_ascii_alphanumeric() || "-.".contains(char)));
        if found.is_empty() {
            return false;
        }
        let is_free = !names.contains_key(name) && !names.values().any(|bound| *bound == found);
        if is_free {
            names.insert(name.to_owned(), found);
        }
        return names.get(name).is_some_and(|bound| *bound == found) && matches(rest, left, names);
    }
    match (pattern.chars().next(), text.chars().next()) {
        (None, None) => true,
        (Some(wanted), Some(found)) if wanted == found => {
            matches(&pattern[wanted.len_utf8()..], &text[found.len_utf8()..], names)
        }
        _ => false,
    }
}

/// Returns the length of the beginning whose characters all belong to the word.
fn word(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|char| !belongs(char)).unwrap_or(text.len())
}
