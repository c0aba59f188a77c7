//! The commands of `docs/tutorials/local-cluster.md`, literally.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clients::session::{Tools, play_in, root};

use crate::images::{Images, firstlight};
use crate::machine::Machine;
use crate::run::last_lines;

/// The page.
const PAGE: &str = "docs/tutorials/local-cluster.md";
/// Limit for each command of the page, longer than those of the commands themselves.
const COMMAND: Duration = Duration::from_secs(900);
/// What the servers print, and the lines of it that an error shows.
const LOGS: [&str; 2] = ["up.log", "pivot.log"];
const LINES: usize = 60;

/// Plays the page.
///
/// # Errors
/// A command does not print what the page says; the error has what the servers have printed. Or the machine is not as before.
pub async fn run(images: &Images, folder: &Path) -> Result<()> {
    let before = Machine::look(images, folder).await?;
    let tools = tools(images, folder)?;
    if let Err(error) = play_in(folder, &root().join(PAGE), &tools, false).await {
        let logs = LOGS.map(|name| {
            let text = std::fs::read_to_string(folder.join("work").join(name)).unwrap_or_default();
            format!("--- {name}\n{}", last_lines(&text, LINES))
        });
        return Err(anyhow!("{error:#}\n{}", logs.join("\n")));
    }
    before.is(&Machine::look(images, folder).await?)
}

/// Returns the programs and the files that the page starts with.
fn tools(images: &Images, folder: &Path) -> Result<Tools> {
    let archives = folder.join("archives");
    std::fs::create_dir(&archives)?;
    for version in [images.older(), images.newer()] {
        std::fs::hard_link(images.node(version), archives.join(format!("node-{version}.tar")))?;
    }
    node_programs::write_busybox(&archives.join("busybox.tar"))?;
    let kubectl = images.kubectl();
    // The data directory of root, were it the only one.
    let data = folder.join("share");
    let kubeconfig = data.join("firstlight/kubeconfig");
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path that is text");
    Ok(Tools {
        firstlight: firstlight()?,
        clients: kubectl.parent().context("a folder")?.to_owned(),
        files: vec![("examples", root().join("examples")), ("images", archives)],
        variables: vec![("XDG_DATA_HOME", text(&data)?), ("KUBECONFIG", text(&kubeconfig)?)],
        deadline: COMMAND,
        report: |command, time| {
            let first = command.lines().next().unwrap_or_default();
            // Nothing is lost if it cannot be printed.
            drop(writeln!(std::io::stdout(), "tutorial: {:6.1} s  $ {first}", time.as_secs_f64()));
        },
    })
}
