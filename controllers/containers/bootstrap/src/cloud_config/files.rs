//! The section `write_files`.

use super::document::File;
use crate::content;
use crate::error::Error;
use crate::limits::MAX_CONTENT;
use crate::steps::WriteFile;

/// Returns the files that are written first, and those that are written last (`defer`).
pub fn read(
    entries: Vec<File>,
    warnings: &mut Vec<String>,
) -> Result<(Vec<WriteFile>, Vec<WriteFile>), Error> {
    let (mut early, mut late) = (Vec::new(), Vec::new());
    let mut room = MAX_CONTENT;
    for (index, entry) in entries.into_iter().enumerate() {
        let field = format!("write_files[{index}]");
        if entry.source.is_some() {
            let what = if entry.content.is_some() { "its content is used" } else { "the file is left out" };
            warnings.push(format!("{field}.source: not applied, nodes fetch no files: {what}"));
            if entry.content.is_none() {
                continue;
            }
        }
        let defer = entry.defer;
        let file = file(entry, &field)?;
        room = room.checked_sub(file.content.len()).ok_or_else(|| Error::TooLarge {
            what: "the content of all files".to_owned(),
            limit: MAX_CONTENT,
        })?;
        if defer { late.push(file) } else { early.push(file) }
    }
    Ok((early, late))
}

fn file(entry: File, field: &str) -> Result<WriteFile, Error> {
    let path = entry.path.unwrap_or_default().trim().to_owned();
    if path.is_empty() {
        return Err(Error::field(format!("{field}.path"), "the path is missing"));
    }
    let encoding = entry.encoding.unwrap_or_default();
    let content = content::decode(&entry.content.unwrap_or_default(), &encoding)
        .map_err(|why| Error::field(field, format!("{path}: {why}")))?;
    let mode = match entry.permissions.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(digits) => Some(mode(digits).map_err(|why| Error::field(format!("{field}.permissions"), why))?),
        None => None,
    };
    let owner = entry.owner.as_deref().map(owner).filter(|owner| !owner.is_empty());
    Ok(WriteFile { path, content, mode, owner, append: entry.append })
}

/// Reads a mode in octal digits, with or without `0` or `0o` in front.
fn mode(digits: &str) -> Result<u32, String> {
    let plain = digits.strip_prefix("0o").unwrap_or(digits);
    u32::from_str_radix(plain, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777 && !plain.starts_with('+'))
        .ok_or_else(|| "the mode must have octal digits, as '0640'".to_owned())
}

/// Returns an owner as `chown` takes it. cloud-init's `extract_usergroup` takes `none` and `-1` for no change.
fn owner(text: &str) -> String {
    let (user, group) = text.split_once(':').unwrap_or((text, ""));
    let kept = |name: &str| {
        let name = name.trim();
        if name == "-1" || name.eq_ignore_ascii_case("none") { String::new() } else { name.to_owned() }
    };
    match (kept(user), kept(group)) {
        (user, group) if group.is_empty() => user,
        (user, group) => format!("{user}:{group}"),
    }
}
