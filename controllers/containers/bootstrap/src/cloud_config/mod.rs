//! Reads cloud-init's `#cloud-config`.
//!
//! The steps have the order in which cloud-init takes them, whatever the order of the sections in the text: in
//! `config/cloud.cfg.tmpl` of cloud-init 26.2, the stage `init` has bootcmd, `write_files`, `users_groups`; `config` makes
//! of runcmd a script; `final` writes the files with `defer` and then runs this script. Unlike there, each entry of
//! runcmd has a shell of its own, and the first that fails ends the bootstrap, as Cluster API's provider does it.

mod document;
mod files;
mod sections;
mod template;
mod users;

use std::borrow::Cow;

use crate::content;
use crate::error::Error;
use crate::metadata::Metadata;
use crate::shell;
use crate::steps::{Bootstrap, Command, Step};
use document::Document;

/// Reads cloud-config, which may be compressed with gzip and may be a template of jinja.
///
/// # Errors
/// See [`parse`](crate::parse).
pub fn parse(data: &[u8], metadata: &Metadata) -> Result<Bootstrap, Error> {
    let data = if content::is_gzip(data) {
        Cow::Owned(content::gunzip(data).map_err(|why| Error::Data(format!("cannot be read: {why}")))?)
    } else {
        Cow::Borrowed(data)
    };
    let text = std::str::from_utf8(&data).map_err(|_| Error::Data("is not UTF-8".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = template::render(text, metadata)?;
    refuse_other_kinds(&text)?;
    let document = document::read(&text)?;
    steps(document, &text, metadata)
}

/// Refuses the other kinds of user data that cloud-init knows by their first line.
fn refuse_other_kinds(text: &str) -> Result<(), Error> {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let kind = match first {
        _ if first.starts_with("#!") => "a script",
        _ if first.starts_with("#include") => "a list of addresses",
        _ if first.starts_with("#cloud-boothook") => "a boot hook",
        _ if first.starts_with("#cloud-config-archive") => "an archive of cloud-config",
        _ if first.starts_with("#cloud-config-jsonp") => "a patch of cloud-config",
        _ if first.to_ascii_lowercase().starts_with("content-type:")
            || first.starts_with("MIME-Version:") =>
        {
            "a MIME message"
        }
        _ => return Ok(()),
    };
    Err(Error::Data(format!("is {kind}: only #cloud-config can be applied in a node")))
}

fn steps(document: Document, text: &str, metadata: &Metadata) -> Result<Bootstrap, Error> {
    let mut bootstrap = Bootstrap { warnings: sections::warnings(text, metadata)?, ..Bootstrap::default() };
    let boot = commands("bootcmd", document.bootcmd)?;
    if !boot.is_empty() {
        let once = "bootcmd: runs once, with the bootstrap, and not again at each start of the node";
        bootstrap.warnings.push(once.to_owned());
    }
    bootstrap.steps.extend(boot.into_iter().map(Step::run));
    let (early, late) = files::read(document.write_files, &mut bootstrap.warnings)?;
    bootstrap.steps.extend(early.into_iter().map(Step::write));
    bootstrap.steps.extend(users::steps(document.users, &mut bootstrap.warnings)?);
    bootstrap.steps.extend(late.into_iter().map(Step::write));
    bootstrap.steps.extend(commands("runcmd", document.runcmd)?.into_iter().map(Step::run));
    bootstrap.expect_success_file(false);
    bootstrap.check()
}

/// Returns the commands of a section. `cloud-init-per`, which says how often a command runs, is not in a node, and the
/// command runs once.
fn commands(section: &str, entries: Vec<document::Entry>) -> Result<Vec<Command>, Error> {
    let mut commands = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        match entry {
            // cloud-init skips what is only a comment.
            document::Entry::Nothing => {}
            document::Entry::Text(text) => {
                let once = shell::without_cloud_init_per(&text);
                commands.push(Command::Shell(once));
            }
            document::Entry::Words(words) => {
                let per = words.first().is_some_and(|word| word == "cloud-init-per");
                let words: Vec<String> = words.into_iter().skip(if per { 3 } else { 0 }).collect();
                if words.is_empty() {
                    return Err(Error::field(format!("{section}[{index}]"), "the command is empty"));
                }
                commands.push(Command::Arguments(words));
            }
        }
    }
    Ok(commands)
}
