//! Reads and writes a Corefile: servers with plugins, which have options.

use std::fmt::{self, Display, Formatter};

/// A line of a Corefile with its block: a server with plugins, a plugin with options, or an option.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The words of the line: the addresses of a server, or a name and its arguments.
    pub words: Vec<String>,
    /// The entries of the block.
    pub block: Vec<Self>,
}

impl Entry {
    /// Creates an entry without a block.
    pub fn new(words: &[&str]) -> Self {
        Self { words: words.iter().map(|word| (*word).to_owned()).collect(), block: Vec::new() }
    }

    /// Returns the first word.
    pub fn name(&self) -> &str {
        self.words.first().map(String::as_str).unwrap_or_default()
    }

    /// Returns the words after the first.
    pub fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Returns whether the block has an entry of this name.
    pub fn has(&self, name: &str) -> bool {
        self.block.iter().any(|entry| entry.name() == name)
    }
}

/// The deepest block: the options of a plugin.
const DEEPEST: usize = 2;

/// Reads a Corefile. Comments are lost.
///
/// # Errors
/// Says what is not supported, and in which line.
pub fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut open: Vec<Entry> = vec![Entry::default()];
    for (number, words) in lines(text)? {
        let wrong = |what: &str| format!("line {number}: {what}");
        let mut words = words;
        if words.iter().any(|word| word == "}") {
            let (Some(closed), true) = (open.pop(), words.len() == 1) else {
                return Err(wrong("`}` must be alone in its line"));
            };
            let Some(parent) = open.last_mut() else { return Err(wrong("`}` without `{`")) };
            parent.block.push(closed);
            continue;
        }
        let opens = words.last().is_some_and(|word| word == "{");
        if opens {
            words.pop();
        }
        let entry = Entry { words, block: Vec::new() };
        if entry.words.is_empty() || entry.words.iter().any(|word| word == "{") {
            return Err(wrong("`{` must be the last word of a line"));
        }
        if opens && open.len() > DEEPEST {
            return Err(wrong("an option of a plugin has a block"));
        }
        if opens {
            open.push(entry);
        } else if let Some(parent) = open.last_mut() {
            parent.block.push(entry);
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(root), true) => Ok(root.block),
        _ => Err("a block is not closed".to_owned()),
    }
}

/// Returns the lines that have words, each with its number. Quotes keep blanks and line breaks in a word, `#`
/// begins a comment, and a word ends before neither `{` nor `}`: `{$NAME}` is a word.
fn lines(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let (mut number, mut quoted, mut comment) = (1, false, false);
    let mut characters = text.chars().chain(['\n']).peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                word.get_or_insert_default().push('"');
            }
            '"' if quoted => quoted = false,
            _ if quoted => word.get_or_insert_default().push(character),
            '\n' => {
                words.extend(word.take());
                if !words.is_empty() {
                    all.push((number, std::mem::take(&mut words)));
                }
                comment = false;
            }
            _ if comment => {}
            '#' if word.is_none() => comment = true,
            '"' if word.is_none() => {
                quoted = true;
                word = Some(String::new());
            }
            _ if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
        number += usize::from(character == '\n');
    }
    if quoted { Err("a quotation mark is not closed".to_owned()) } else { Ok(all) }
}

/// Writes servers as a Corefile.
pub fn print(servers: &[Entry]) -> String {
    servers.iter().map(|server| format!("{}\n", Printed(server, 0))).collect()
}

struct Printed<'a>(&'a Entry, usize);

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(entry, depth) = self;
        let words: Vec<String> = entry.words.iter().map(|word| quoted(word)).collect();
        let indent = "    ".repeat(*depth);
        write!(f, "{indent}{}", words.join(" "))?;
        if entry.block.is_empty() && *depth > 0 {
            return Ok(());
        }
        f.write_str(" {")?;
        for inner in &entry.block {
            write!(f, "\n{}", Printed(inner, depth + 1))?;
        }
        write!(f, "\n{indent}}}")
    }
}

fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty()
        && !word.starts_with(['#', '"'])
        && !word.contains(char::is_whitespace)
        && !matches!(word, "{" | "}");
    if is_plain { word.to_owned() } else { format!("\"{}\"", word.replace('"', "\\\"")) }
}
