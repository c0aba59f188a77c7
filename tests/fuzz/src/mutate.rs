//! Derives inputs from existing ones.

use machinery::random::Random;
use serde_json::{Value, json};

/// Words that parsers recognize; the targets add further ones.
const WORDS: [&str; 40] = [
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "-0",
    "1e400",
    "9223372036854775808",
    "0.1",
    "\\u0000",
    "\\ud800",
    "/",
    "~1",
    "~0",
    "-",
    ".",
    ":",
    ",",
    "=",
    "!=",
    " in (",
    "notin",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "'",
    "\"",
    "\n",
    "\t",
    "- ",
    "&a",
    "*a",
    "<<: ",
    "$patch",
    "f:",
    "k:{\"a\":1}",
    "v:1",
];

/// Returns a number below `limit`; 0 if `limit` is 0.
fn below(random: &Random, limit: usize) -> usize {
    usize::try_from(random.number() % u64::try_from(limit.max(1)).unwrap()).unwrap()
}

/// Returns a mutation of one of `pool`, of at most `limit` bytes.
pub fn mutate(pool: &[Vec<u8>], words: &[&str], random: &Random, limit: usize) -> Vec<u8> {
    let mut input = pool[below(random, pool.len())].clone();
    for _ in 0..=below(random, 4) {
        let tree = serde_json::from_slice::<Value>(&input).ok().filter(|_| below(random, 2) == 0);
        match tree {
            Some(mut value) => {
                let other = serde_json::from_slice(&pool[below(random, pool.len())]).unwrap_or_default();
                change_tree(&mut value, &other, words, random);
                input = value.to_string().into_bytes();
            }
            None => change_bytes(&mut input, pool, words, random),
        }
    }
    input.truncate(limit);
    input
}

fn change_bytes(input: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&str], random: &Random) {
    let at = below(random, input.len() + 1);
    let end = (at + below(random, 16)).min(input.len());
    let word = word(words, random);
    match below(random, 8) {
        0 if at < input.len() => input[at] ^= 1 << below(random, 8),
        1 if at < input.len() => input[at] = u8::try_from(below(random, 256)).unwrap(),
        2 => drop(input.drain(at..end)),
        3 => {
            let piece = input[at..end].to_vec();
            for _ in 0..=below(random, 8) {
                input.splice(at..at, piece.iter().copied());
            }
        }
        4 => drop(input.splice(at..end, word.bytes())),
        5 => {
            let other = &pool[below(random, pool.len())];
            let from = below(random, other.len() + 1);
            let to = (from + below(random, 64)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        _ => drop(input.splice(at..at, word.bytes())),
    }
}

fn word<'a>(words: &[&'a str], random: &Random) -> &'a str {
    let at = below(random, WORDS.len() + words.len() * 4);
    WORDS.get(at).copied().unwrap_or_else(|| words[(at - WORDS.len()) / 4])
}

/// Changes one place in `value`.
fn change_tree(value: &mut Value, other: &Value, words: &[&str], random: &Random) {
    let children = match value {
        Value::Object(map) => map.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if children > 0 && below(random, 4) > 0 {
        let at = below(random, children);
        let child = match value {
            Value::Object(map) => map.iter_mut().nth(at).map(|(_, child)| child),
            Value::Array(items) => items.get_mut(at),
            _ => None,
        };
        if let Some(child) = child {
            return change_tree(child, other, words, random);
        }
    }
    match value {
        Value::Object(map) if below(random, 2) == 0 => {
            let name = map.keys().nth(below(random, map.len())).cloned().unwrap_or_default();
            match below(random, 3) {
                0 => drop(map.remove(&name)),
                1 => drop(map.insert(word(words, random).to_owned(), part(other, random))),
                _ => {
                    let child = map.remove(&name).unwrap_or_default();
                    map.insert(word(words, random).to_owned(), child);
                }
            }
        }
        Value::Array(items) if below(random, 2) == 0 => match below(random, 3) {
            0 => drop(items.pop()),
            1 => items.push(part(other, random)),
            _ => items.extend(items.first().cloned()),
        },
        place => *place = scalar(place, other, words, random),
    }
}

fn scalar(old: &Value, other: &Value, words: &[&str], random: &Random) -> Value {
    match below(random, 9) {
        0 => Value::Null,
        1 => json!({}),
        2 => json!([]),
        3 => json!([old, old]),
        4 => json!({"a": old}),
        5 => json!(random.number().cast_signed()),
        6 => json!(-1),
        7 => part(other, random),
        _ => word(words, random).into(),
    }
}

/// Returns a random part of `value`.
fn part(value: &Value, random: &Random) -> Value {
    let child = match value {
        Value::Object(map) => map.values().nth(below(random, map.len())),
        Value::Array(items) => items.get(below(random, items.len())),
        _ => None,
    };
    match child {
        Some(child) if below(random, 3) > 0 => part(child, random),
        _ => value.clone(),
    }
}
