//! What is kept of a text that a machine sends. It ends in a condition, which many people read, so secrets are masked. Pure.

use crate::limits;

const MASKED: &str = "[masked]";
/// What follows one of these words on a line is masked. They are compared in lower case.
const SECRET_WORDS: [&str; 6] =
    ["certificate-key", "certificatekey", "client-key-data", "password", "authorization:", "bearer "];
/// The shortest line of Base64 that is masked, in characters: a line of a PEM block has 64, but the last one.
const BASE64_LINE: usize = 40;

/// Returns the last lines of a message, at most [`limits::BOOTSTRAP_LINES`] and [`limits::BOOTSTRAP_MESSAGE`] characters, without control
/// characters and secrets.
pub fn message(text: &str) -> String {
    let lines: Vec<String> =
        masked(&plain(text)).into_iter().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.len().saturating_sub(limits::BOOTSTRAP_LINES);
    let text = lines.get(first..).unwrap_or_default().join("\n");
    let more = text.chars().count().saturating_sub(limits::BOOTSTRAP_MESSAGE);
    text.chars().skip(more).collect()
}

/// Returns a stage: one line of at most [`limits::WORD`] characters.
pub fn stage(text: &str) -> String {
    message(text).lines().next().unwrap_or_default().chars().take(limits::WORD).collect()
}

/// Removes the escape sequences of terminals, control characters, and characters that reorder or hide others.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                while characters.next_if(|next| !('\u{40}'..='\u{7e}').contains(next)).is_some() {}
                characters.next();
            }
            '\n' => plain.push('\n'),
            '\t' => plain.push(' '),
            _ if terminal::is_unsafe(character) => {}
            _ => plain.push(character),
        }
    }
    plain
}

/// Returns the lines of a text with its secrets masked.
fn masked(text: &str) -> Vec<String> {
    let mut is_in_block = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let begins = line.contains("-----BEGIN");
        let ends = line.contains("-----END");
        if begins || ends || is_in_block {
            is_in_block = (is_in_block || begins) && !ends;
            lines.push(MASKED.to_owned());
        } else {
            lines.push(masked_line(line));
        }
    }
    lines.dedup_by(|next, line| next == MASKED && line == MASKED);
    lines
}

fn masked_line(line: &str) -> String {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let trimmed = line.trim();
    if trimmed.len() >= BASE64_LINE && trimmed.chars().all(is_base64) {
        return MASKED.to_owned();
    }
    let lower = line.to_ascii_lowercase();
    let found = SECRET_WORDS.iter().filter_map(|word| Some(lower.find(word)? + word.len())).min();
    let (open, rest) = line.split_at_checked(found.unwrap_or(line.len())).unwrap_or((line, ""));
    let open = without_tokens(open);
    if rest.trim().is_empty() { open } else { format!("{open} {MASKED}") }
}

/// Masks bootstrap tokens: `[a-z0-9]{6}.[a-z0-9]{16}`.
fn without_tokens(line: &str) -> String {
    let is_of_token = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut text = String::with_capacity(line.len());
    let mut pieces = line.split_inclusive(|c: char| !is_of_token(c)).peekable();
    while let Some(piece) = pieces.next() {
        let is_id = piece.len() == 7 && piece.ends_with('.');
        let secret = pieces.peek().map(|next| next.trim_end_matches(|c| !is_of_token(c)));
        match secret {
            Some(secret) if is_id && secret.len() == 16 => {
                let after = pieces.next().and_then(|next| next.get(16..));
                text += MASKED;
                text += after.unwrap_or_default();
            }
            _ => text += piece,
        }
    }
    text
}
