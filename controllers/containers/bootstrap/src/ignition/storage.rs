//! The section `storage`: directories, files and links.

use super::config::{Append, Contents, File, Link, Owner, Storage};
use crate::content;
use crate::error::Error;
use crate::limits::MAX_CONTENT;
use crate::shell::quote;
use crate::steps::{Step, WriteFile, shown};

/// Returns the steps of the section.
pub fn steps(storage: Storage, warnings: &mut Vec<String>) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for (index, directory) in storage.directories.iter().enumerate() {
        let field = format!("storage.directories[{index}]");
        if is_here(directory.filesystem.as_deref(), &field, warnings) {
            steps.push(make_directory(directory, &field)?);
        }
    }
    let mut room = MAX_CONTENT;
    for (index, file) in storage.files.into_iter().enumerate() {
        let field = format!("storage.files[{index}]");
        if is_here(file.filesystem.as_deref(), &field, warnings) {
            for file in write_file(file, &field, warnings)? {
                room = room.checked_sub(file.content.len()).ok_or_else(|| Error::TooLarge {
                    what: "the content of all files".to_owned(),
                    limit: MAX_CONTENT,
                })?;
                steps.push(Step::write(file));
            }
        }
    }
    for (index, link) in storage.links.iter().enumerate() {
        let field = format!("storage.links[{index}]");
        if is_here(link.filesystem.as_deref(), &field, warnings) {
            steps.push(make_link(link, &field)?);
        }
    }
    Ok(steps)
}

/// Version 2 names the filesystem; the others are on disks that a node has not.
fn is_here(filesystem: Option<&str>, field: &str, warnings: &mut Vec<String>) -> bool {
    let here = matches!(filesystem, None | Some("" | "root"));
    if !here {
        warnings.push(format!("{field}: not applied, a node has no filesystem but root"));
    }
    here
}

fn owner(user: Option<&Owner>, group: Option<&Owner>) -> Option<String> {
    let name = |owner: Option<&Owner>| match owner {
        Some(Owner { id: Some(id), .. }) => id.to_string(),
        Some(Owner { name: Some(name), .. }) => name.clone(),
        _ => String::new(),
    };
    match (name(user), name(group)) {
        (user, group) if user.is_empty() && group.is_empty() => None,
        (user, group) if group.is_empty() => Some(user),
        (user, group) => Some(format!("{user}:{group}")),
    }
}

fn mode(file: &File, field: &str) -> Result<Option<u32>, Error> {
    match file.mode {
        Some(mode) if mode > 0o7777 => {
            Err(Error::field(format!("{field}.mode"), "the mode is larger than 4095 (07777 in octal digits)"))
        }
        mode => Ok(mode),
    }
}

fn absolute<'p>(path: &'p str, field: &str) -> Result<&'p str, Error> {
    if path.starts_with('/') {
        return Ok(path);
    }
    Err(Error::field(format!("{field}.path"), "the path must be absolute, as /etc/example"))
}

/// Returns the files that one entry writes. One that would have to be fetched is a warning.
fn write_file(file: File, field: &str, warnings: &mut Vec<String>) -> Result<Vec<WriteFile>, Error> {
    let owner = owner(file.user.as_ref(), file.group.as_ref());
    let mode = mode(&file, field)?;
    let path = absolute(&file.path, field)?;
    let (first, appended) = match file.append {
        Append::Contents(appended) => (file.contents.map(|contents| (contents, false)), appended),
        Append::Flag(append) => (Some((file.contents.unwrap_or_default(), append)), Vec::new()),
        // A file without contents is made, and left as it is if it is there (version 3).
        Append::Nothing(()) => {
            let append = file.contents.is_none();
            (Some((file.contents.unwrap_or_default(), append)), Vec::new())
        }
    };
    let all = first.into_iter().chain(appended.into_iter().map(|contents| (contents, true)));
    let mut files = Vec::new();
    for (contents, append) in all {
        match read(&contents).map_err(|why| Error::field(format!("{field}.contents"), why))? {
            Some(content) => {
                files.push(WriteFile { path: path.to_owned(), content, mode, owner: owner.clone(), append });
            }
            None => {
                warnings.push(format!("{field}: {} is left out, nodes fetch no files", shown(path, 200)));
            }
        }
    }
    Ok(files)
}

/// Returns the content, or `None` if it would have to be fetched.
fn read(contents: &Contents) -> Result<Option<Vec<u8>>, String> {
    let source = contents.source.as_deref().unwrap_or_default().trim();
    let data = match source.strip_prefix("data:") {
        Some(data) => data_url(data)?,
        None if source.is_empty() => Vec::new(),
        None => return Ok(None),
    };
    match contents.compression.as_deref().unwrap_or_default() {
        "" | "null" => Ok(Some(data)),
        "gzip" => content::gunzip(&data).map(Some),
        _ => Err("the compression is not known: use gzip".to_owned()),
    }
}

/// Reads what follows `data:` (RFC 2397).
fn data_url(text: &str) -> Result<Vec<u8>, String> {
    let (kind, data) = text.split_once(',').ok_or("the data: URL has no comma before its data")?;
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(data).collect();
    if kind.trim_end().to_ascii_lowercase().ends_with(";base64") {
        content::base64(&bytes)
    } else {
        Ok(bytes)
    }
}

fn make_directory(directory: &File, field: &str) -> Result<Step, Error> {
    let shown_path = absolute(&directory.path, field)?;
    let path = quote(shown_path);
    let mode = mode(directory, field)?.unwrap_or(0o755);
    let mut text = format!("mkdir -p -- {path} && chmod {mode:04o} -- {path}");
    if let Some(owner) = owner(directory.user.as_ref(), directory.group.as_ref()) {
        text =
            format!("mkdir -p -- {path} && chown -- {} {path} && chmod {mode:04o} -- {path}", quote(&owner));
    }
    Ok(Step::own(format!("make the directory {}", shown(shown_path, 200)), text))
}

fn make_link(link: &Link, field: &str) -> Result<Step, Error> {
    let path = absolute(&link.path, field)?;
    if link.target.is_empty() {
        return Err(Error::field(format!("{field}.target"), "the target is missing"));
    }
    let kind = if link.hard == Some(true) { "-fT" } else { "-sfT" };
    let folder =
        path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
    let text =
        format!("mkdir -p -- {} && ln {kind} -- {} {}", quote(folder), quote(&link.target), quote(path));
    Ok(Step::own(format!("link {}", shown(path, 200)), text))
}
