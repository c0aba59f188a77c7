//! Rules for references to sources in pages: a path of a Rust file in backquotes, and then the names of its functions.
//!
//! A reference is written as `` `crate/tests/file.rs` one_test, another_test ``. It ends with a semicolon, a cell, an item or a paragraph.
//! Remarks are in parentheses, or have more than one word.

/// A Rust file that a page names, with the functions that the page looks for in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Reference {
    /// The line of the page in which its item or row begins.
    pub line: usize,
    /// The path as the page has it; braces hold alternatives.
    pub path: String,
    /// The names of functions, without backquotes.
    pub functions: Vec<String>,
}

/// The references of a page.
pub fn of(page: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    for (line, block) in blocks(page) {
        // What only a list of tests has: names of one word.
        let is_list = block.starts_with('|') || block.starts_with("- Checked by:");
        let counts = |name: &str| if is_list { is_word(name) } else { is_function(name) };
        let mut open: Option<(Reference, i32)> = None;
        let mut depth = 0;
        for (position, text) in block.split('`').enumerate() {
            if position % 2 == 0 {
                let mut own = String::new();
                for c in text.chars() {
                    depth += i32::from(c == '(') - i32::from(c == ')');
                    let Some((reference, at)) = &mut open else { continue };
                    if depth < *at || (depth == *at && [';', '|'].contains(&c)) {
                        reference.functions.extend(names(&own).filter(|name| counts(name)));
                        found.extend(open.take().map(|(reference, _)| reference));
                    } else if depth == *at && c != ')' {
                        own.push(c);
                    }
                }
                if let Some((reference, _)) = &mut open {
                    reference.functions.extend(names(&own).filter(|name| counts(name)));
                }
            } else if is_path(text) {
                found.extend(open.take().map(|(reference, _)| reference));
                open = Some((Reference { line, path: text.to_owned(), functions: Vec::new() }, depth));
            } else if let Some((reference, at)) = &mut open
                && depth == *at
                && is_function(text)
            {
                reference.functions.push(text.to_owned());
            }
        }
        found.extend(open.map(|(reference, _)| reference));
    }
    found
}

/// The names of functions in the text of a block that stand behind no path, with the line of the block.
pub fn without_a_path(page: &str) -> Vec<(usize, String)> {
    let referred: Vec<Reference> = of(page);
    let mut found = Vec::new();
    for (line, block) in blocks(page) {
        let text: String = block.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            let is_referred = referred
                .iter()
                .any(|one| one.line == line && one.functions.iter().any(|name| name.as_str() == word));
            if is_function(word) && !is_referred {
                found.push((line, word.to_owned()));
            }
        }
    }
    found
}

/// Whether the source has the function.
pub fn has_function(source: &str, name: &str) -> bool {
    heads(source, name).next().is_some()
}

/// Whether the source has a test of this name.
pub fn has_test(source: &str, name: &str) -> bool {
    heads(source, name).any(|before| {
        let above = before.rsplit('\n').skip(1);
        let mut attributes = above.take_while(|line| !line.trim().is_empty() && line.trim() != "}");
        attributes.any(|line| line.trim_start().starts_with("#[") && line.contains("test"))
    })
}

/// The text before each function of this name, with the beginning of its line.
fn heads<'a>(source: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let head = format!("fn {name}");
    let found: Vec<usize> = source.match_indices(&head).map(|(start, _)| start).collect();
    found
        .into_iter()
        .filter(move |start| source[start + head.len()..].starts_with(['(', '<']))
        .map(|start| &source[..start])
}

/// The rows of tables, the items of lists and the paragraphs of a page without its code, each with its first line.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut in_code, mut is_open) = (false, false);
    for (position, line) in page.lines().enumerate() {
        let text = line.trim_start();
        let is_fence = text.starts_with("```");
        in_code ^= is_fence;
        if in_code || is_fence || text.is_empty() {
            is_open = false;
            continue;
        }
        let begins = text.starts_with(['|', '-', '#']) || !is_open;
        match found.last_mut() {
            Some((_, block)) if !begins => {
                block.push(' ');
                block.push_str(text);
            }
            _ => found.push((position + 1, text.to_owned())),
        }
        is_open = !text.starts_with(['|', '#']);
    }
    found
}

/// The single words between the commas of a text.
fn names(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(|part| part.trim().trim_end_matches(['.', ':']).to_owned())
}

fn is_path(text: &str) -> bool {
    text.ends_with(".rs")
        && text.contains('/')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "/._-{},".contains(c))
}

/// A word of lower case, digits and underscores.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// A word that is the name of a function and not of something else: names of tests are sentences.
fn is_function(text: &str) -> bool {
    is_word(text) && text.matches('_').count() >= 2
}
