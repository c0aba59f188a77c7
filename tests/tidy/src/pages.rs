//! Rules for the documentation pages.

use std::collections::HashSet;

/// Minimum length of a line to count as a repetition. Shorter lines, for example `---` or `end`, may repeat.
const LINE_LENGTH_MIN: usize = 40;

/// Maximum number of words beside the paths of a line that only refers to files, for example `Checked by:`.
const REFERENCE_WORDS_MAX: usize = 2;

/// Maximum number of columns of prose.
pub const PROSE_COLUMNS_MAX: usize = 100;

/// Maximum number of columns of a row in a table: what a wide terminal can show.
pub const ROW_COLUMNS_MAX: usize = 120;

/// File extensions that identify a path of the repository in a page.
const ENDINGS: &[&str] = &[".rs", ".md", ".txt", ".toml", ".yaml", ".json"];

/// Lines that occur twice in `text`. Code blocks are ignored, because they may repeat a command.
pub fn repeated_lines(page: &str, text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let lines: Vec<(usize, &str)> = prose(text).collect();
    for (position, (number, line)) in lines.iter().enumerate() {
        let heads_a_table = lines.get(position + 1).is_some_and(|(_, next)| next.starts_with("|-"));
        if !heads_a_table
            && line.trim().len() >= LINE_LENGTH_MIN
            && !is_table_rule(line)
            && !is_reference(line)
            && !seen.insert(line.trim())
        {
            found.push(format!("{page}:{number}: this line stands in the page twice"));
        }
    }
    found
}

/// The lines that are too long to be read, or compared, in a terminal; rows of tables only `with_rows`. A word or a quotation cannot be broken.
pub fn long_lines(page: &str, text: &str, with_rows: bool) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in prose(text).filter(|(_, line)| with_rows || !line.trim_start().starts_with('|')) {
        let (columns, max) =
            (line.chars().count(), if line.starts_with('|') { ROW_COLUMNS_MAX } else { PROSE_COLUMNS_MAX });
        let begin = line.trim_start().trim_start_matches("- ");
        let breaks = begin.split('`').step_by(2).any(|part| part.contains(' '));
        if columns > max && breaks && !begin.starts_with("![") {
            found.push(format!("{page}:{number}: {columns} columns, more than {max}"));
        }
    }
    found
}

/// The paths of the repository that a page contains in backquotes, with their line numbers.
///
/// `is_folder` returns whether a name is a top-level folder or a crate. A path begins with such a name, has a
/// `/`, and consists only of the characters of paths. Patterns with `*`, with an ellipsis or with words in
/// capitals are not paths.
pub fn named_paths(text: &str, is_folder: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for quoted in line.split('`').skip(1).step_by(2) {
            let quoted = quoted.trim_end_matches('/');
            let is_path =
                quoted.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "/._-{},".contains(c));
            let Some((first, rest)) = quoted.split_once('/') else { continue };
            let names_a_file = ENDINGS.iter().any(|ending| rest.ends_with(ending))
                || rest.contains('{')
                || rest.starts_with("src");
            let top = ["apiserver", "bootstrap", "controllers", "docs", "examples", "schemas", "tests"]
                .contains(&first);
            if is_path && is_folder(first) && (top || names_a_file) {
                found.extend(alternatives(quoted).into_iter().map(|path| (number, path)));
            }
        }
    }
    found
}

/// The targets of links to files without their anchors, with their line numbers.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// Expands braces: `a/{b,c}.rs` becomes `a/b.rs` and `a/c.rs`.
pub fn alternatives(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (inside, after))) => {
            inside.split(',').map(|name| format!("{before}{name}{after}")).collect()
        }
        None => vec![path.to_owned()],
    }
}

/// The lines outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(position, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((position + 1, line))
    })
}

/// Whether a line has paths in backquotes, and no sentence beside them. One test may hold two promises.
fn is_reference(line: &str) -> bool {
    let (mut words, mut paths) = (0, 0);
    for (position, part) in line.split('`').enumerate() {
        if position % 2 == 0 {
            words += part.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count();
        } else {
            paths += usize::from(part.contains('/'));
        }
    }
    paths > 0 && words <= REFERENCE_WORDS_MAX
}

fn is_table_rule(line: &str) -> bool {
    line.chars().all(|c| "|-: ".contains(c))
}
