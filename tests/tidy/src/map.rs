//! Rules for the map, docs/ARCHITECTURE.md: it fits on a page, and names each crate in the row of its folder. The page of the
//! crate's floor describes it.

/// Maximum number of lines of the map. A longer one is not read at once.
pub const LINES_MAX: usize = 150;
/// Maximum number of words of our own.
pub const WORDS_MAX: usize = 20;

/// The violations, one per line. `crates` are folders, `floors` the texts of the pages of all floors.
pub fn violations(map: &str, crates: &[String], floors: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let lines = map.lines().count();
    if lines > LINES_MAX {
        found.push(format!("docs/ARCHITECTURE.md: {lines} lines, more than {LINES_MAX}"));
    }
    let words = words(map);
    if words > WORDS_MAX {
        found.push(format!("docs/ARCHITECTURE.md: {words} words of our own, more than {WORDS_MAX}"));
    }
    let named = named(map, crates);
    for folder in crates {
        if !named.contains(folder) {
            found.push(format!("docs/ARCHITECTURE.md has no row with {folder}"));
        }
        if !floors.iter().any(|page| describes(page, folder)) {
            found.push(format!("no page of docs/architecture describes {folder}"));
        }
    }
    let unknown = named.iter().filter(|folder| !crates.contains(folder));
    found.extend(unknown.map(|folder| format!("docs/ARCHITECTURE.md names {folder}, which is no crate")));
    found
}

/// The folders of the crates in the table of folders. A row begins with a folder, and has the names of crates in it, or the
/// folder's own, which is the name of a crate in it first.
fn named(map: &str, crates: &[String]) -> Vec<String> {
    let table = map.lines().skip_while(|line| !line.starts_with("| folder |")).skip(2);
    let mut found = Vec::new();
    for row in table.take_while(|line| line.starts_with('|')) {
        let mut words = row.split('`').skip(1).step_by(2);
        let Some(folder) = words.next() else { continue };
        found.extend(words.map(|name| {
            let within = format!("{folder}/{name}");
            if name == folder && !crates.contains(&within) { folder.to_owned() } else { within }
        }));
    }
    found
}

/// Whether a page of a floor has the path of a crate's folder. The page of the tests has their names.
pub fn describes(page: &str, folder: &str) -> bool {
    let is_path_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_lowercase() || "/-_".contains(c));
    let path = page.match_indices(folder).any(|(start, _)| is_path_end(&page[start + folder.len()..]));
    let of_tests = folder.strip_prefix("tests/").is_some_and(|name| page.contains(&format!("`{name}`")));
    path || (of_tests && page.starts_with("# tests/"))
}

/// The number of rows in the table of our own words.
fn words(map: &str) -> usize {
    let table = map.lines().skip_while(|line| !line.starts_with("| word |")).skip(2);
    table.take_while(|line| line.starts_with('|')).count()
}
