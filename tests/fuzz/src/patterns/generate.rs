//! Random patterns, many of which are wrong, and texts that they may match.

use machinery::random::Random;

use super::pieces::{MEMBERS, OPENINGS, PIECES, REPEATS, TEXT};
use crate::grammar::{below, pick};

/// Names of classes that Go knows, and of some that it does not.
pub(super) fn class_names() -> impl Iterator<Item = &'static str> {
    NAMES.split_whitespace()
}

const NAMES: &str = include_str!("names.txt");

/// Generates a pattern.
pub(super) fn pattern(random: &Random) -> String {
    let mut text = alternatives(random, 3);
    // Some are damaged.
    if below(random, 12) == 0 && !text.is_empty() {
        let at = text.char_indices().nth(below(random, text.chars().count())).map_or(0, |(at, _)| at);
        match below(random, 3) {
            0 => text.truncate(at),
            1 => drop(text.remove(at)),
            _ => text
                .insert_str(at, pick(random, &["(", ")", "[", "]", "\\", "*", "{", "}", "|", "-", "^", "?"])),
        }
    }
    text
}

fn alternatives(random: &Random, depth: usize) -> String {
    let count = if below(random, 3) == 0 { 1 + below(random, 4) } else { 1 };
    (0..count).map(|_| sequence(random, depth)).collect::<Vec<_>>().join("|")
}

fn sequence(random: &Random, depth: usize) -> String {
    (0..below(random, 5)).map(|_| part(random, depth)).collect()
}

fn part(random: &Random, depth: usize) -> String {
    let mut text = match below(random, 10) {
        0..3 if depth > 0 => {
            // Most groups are right ones.
            let known = if below(random, 8) == 0 { OPENINGS.len() } else { 10 };
            pick(random, &OPENINGS[..known]).to_owned() + &alternatives(random, depth - 1) + ")"
        }
        3..6 => brackets(random),
        6 => (0..3).map(|_| pick(random, &["a", "b", "k", "s", "é", "1"])).collect(),
        _ => piece(random).to_owned(),
    };
    if below(random, 3) == 0 {
        let known = if below(random, 6) == 0 { REPEATS.len() } else { 6 };
        text.push_str(pick(random, &REPEATS[..known]));
    }
    text
}

/// Returns a piece, mostly one that is right by itself.
fn piece(random: &Random) -> &'static str {
    loop {
        let piece = pick(random, &PIECES);
        let is_wrong = ["\\Z", "\\C", "\\p", "\\8", "\\1", "\\x4", "\\E", "\\é", "\\", "(?x)"]
            .contains(&piece)
            || ["\\p{Is", "\\p{S", "\\p{", "\\pX", "\\x{1", "\\x{}"]
                .iter()
                .any(|start| piece.starts_with(start));
        if !is_wrong || below(random, 6) == 0 {
            return piece;
        }
    }
}

fn brackets(random: &Random) -> String {
    let mut text = pick(random, &["[", "[", "[^", "[]", "[^]", "[-"]).to_owned();
    for _ in 0..=below(random, 4) {
        let member = pick(random, &MEMBERS);
        let is_wrong = ["\\p{Nope}", "[:nope:]", "\\Q", "\\E", "\\b", "z-a"].contains(&member);
        if !is_wrong || below(random, 8) == 0 {
            text.push_str(member);
        }
    }
    text + "]"
}

/// Generates a text, of characters of the pattern, too.
pub(super) fn text(random: &Random, pattern: &str) -> String {
    let characters: Vec<char> = pattern.chars().collect();
    let one = |_| match below(random, 3) {
        0 if !characters.is_empty() => characters[below(random, characters.len())].to_string(),
        _ => pick(random, &TEXT).to_owned(),
    };
    (0..below(random, 9)).map(one).collect()
}
