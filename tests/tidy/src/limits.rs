//! Rules for limits: docs/metrics.md says for each limit in which metric it is counted, or why it is not.

/// The names of the constants in a `limits.rs`.
pub fn constants(source: &str) -> Vec<&str> {
    let lines =
        source.lines().filter(|line| line.starts_with("pub const ") || line.starts_with("pub(crate) const "));
    lines.filter_map(|line| line.split("const ").nth(1)?.split(':').next()).collect()
}

/// The section of the page for a crate: the text below the heading with the crate's folder.
pub fn section<'a>(page: &'a str, folder: &str) -> Option<&'a str> {
    let heading = format!("### {folder}\n");
    let (_, rest) = page.split_once(&heading)?;
    Some(rest.split("\n#").next().unwrap_or(rest))
}

/// The names of metrics and labels in the last column of a section's table.
pub fn counted(section: &str) -> Vec<String> {
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    cells.flat_map(quoted).map(|name| name.trim_end_matches("_total").to_owned()).collect()
}

/// The violations of a section, one per line: limits that it does not have, names that are no limits, and names of
/// metrics that no source has.
pub fn violations(folder: &str, source: &str, page: &str, sources: &[String]) -> Vec<String> {
    let Some(section) = section(page, folder) else {
        return vec![format!("docs/metrics.md has no section for {folder}")];
    };
    let named: Vec<&str> = quoted(section).collect();
    let missing = constants(source).into_iter().filter(|name| !named.contains(name));
    let mut found: Vec<String> =
        missing.map(|name| format!("{folder}: docs/metrics.md does not say what counts {name}")).collect();
    let is_constant =
        |name: &&&str| name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    for name in named.iter().filter(is_constant).filter(|name| !constants(source).contains(name)) {
        found.push(format!("{folder}: docs/metrics.md names {name}, which is no limit"));
    }
    for name in counted(section) {
        let literal = format!("\"{name}\"");
        if !sources.iter().any(|text| text.contains(&literal)) {
            found.push(format!("{folder}: docs/metrics.md names {name}, which nothing counts"));
        }
    }
    found
}

/// The words in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}
