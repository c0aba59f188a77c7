//! Patterns beside Go's own `regexp`, which a program in Go answers for.

mod generate;
mod go;
mod pieces;

use std::io::Write as _;

use anyhow::{Result, bail, ensure};
use machinery::limits::MAX_PATTERN_SIZE;
use machinery::pattern::{compile, parse};
use machinery::random::Random;

use self::go::{Answer, Go};
use crate::grammar::below;

/// The version of Unicode that the classes have.
const UNICODE: &str = "15.0.0";
/// The number of texts for each pattern.
const TEXTS: usize = 5;

/// Compares classes of Unicode, cases of letters, and `number` random patterns.
///
/// # Errors
/// Go cannot be run, or answers otherwise.
pub fn beside_go(number: u64, seed: u64) -> Result<()> {
    let mut go = Go::start()?;
    ensure!(go.unicode == UNICODE, "Go's Unicode is {}, not {UNICODE}", go.unicode);
    let classes = classes(&mut go)?;
    let random = Random::seeded(seed);
    let mut accepted = 0;
    for _ in 0..number {
        let pattern = generate::pattern(&random);
        let texts: Vec<String> = (0..TEXTS).map(|_| generate::text(&random, &pattern)).collect();
        accepted += u64::from(same(&mut go, &pattern, texts)?);
        if below(&random, 20) == 0 {
            let pattern = over_symbols(&pattern);
            let texts = (0..TEXTS).map(|_| generate::text(&random, &pattern)).collect();
            same(&mut go, &pattern, texts)?;
        }
    }
    let outcome = format!(
        "{classes} classes and letters, {number} patterns, {accepted} of them valid, {TEXTS} texts each, seed {seed}: \
         no difference"
    );
    Ok(writeln!(std::io::stdout().lock(), "{outcome}")?)
}

/// Adds an alternative that no text has, and that makes the pattern too large for a program over bytes of UTF-8.
fn over_symbols(pattern: &str) -> String {
    format!("(?:{pattern})|\u{e000}[\\p{{L}}\\p{{N}}]{{900}}")
}

/// Compares one pattern. Returns whether it is valid.
fn same(go: &mut Go, pattern: &str, texts: Vec<String>) -> Result<bool> {
    let theirs = go.ask(pattern, &texts)?;
    let is_too_large = parse(pattern).is_ok_and(|tree| tree.size() > MAX_PATTERN_SIZE);
    if is_too_large {
        return Ok(false);
    }
    let ours = ours(pattern, &texts);
    if let Some(difference) = ours.difference(&theirs, &texts) {
        bail!("the pattern {pattern:?} {difference}");
    }
    Ok(ours.error.is_none())
}

fn ours(pattern: &str, texts: &[String]) -> Answer {
    let compiled = match compile(pattern) {
        Ok(compiled) => compiled,
        Err(error) => return Answer::refusal(format!("error parsing regexp: {error}")),
    };
    let matches = texts.iter().map(|text| {
        assert_eq!(
            compiled.is_match(text),
            compiled.search(text).next().is_some(),
            "{pattern:?} on {text:?}"
        );
        let mut search = compiled.search(text);
        let mut found = Vec::new();
        while search.next().is_some() {
            let groups = (0..compiled.names().len()).map(|group| search.group(group));
            found.push(groups.flat_map(place).collect());
        }
        found
    });
    Answer::matches(matches.collect())
}

/// Returns offsets as Go does.
fn place(group: Option<std::ops::Range<usize>>) -> [i64; 2] {
    group.map_or([-1, -1], |group| [group.start as i64, group.end as i64])
}

/// Compares each class by its name on all characters, and each letter that has cases on all of these.
fn classes(go: &mut Go) -> Result<usize> {
    let all: String = ('\0'..=char::MAX).collect();
    let mut count = 0;
    for name in generate::class_names() {
        for pattern in
            [format!("\\p{{{name}}}+"), format!("(?i)\\p{{{name}}}+"), format!("(?i)\\P{{{name}}}+")]
        {
            same(go, &pattern, vec![all.clone()])?;
            count += 1;
        }
    }
    for class in ["\\d", "\\w", "\\s", "\\D", "\\W", "\\S", ".", "(?s).", "[[:^word:]]", "\\b.", "\\B."] {
        same(go, &format!("(?:{class})+"), vec![all.clone()])?;
        same(go, &format!("(?i)(?:{class})+"), vec![all.clone()])?;
        count += 2;
    }
    let cased: String = all.chars().filter(|letter| has_cases(*letter)).collect();
    for letter in cased.chars() {
        same(go, &format!("(?i){letter}+"), vec![cased.clone()])?;
        same(go, &format!("(?i)[{letter}]+"), vec![cased.clone()])?;
        count += 2;
    }
    Ok(count)
}

fn has_cases(letter: char) -> bool {
    !letter.to_lowercase().eq([letter]) || !letter.to_uppercase().eq([letter])
}
