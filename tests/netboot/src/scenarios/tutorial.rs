//! Checks the tutorial.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clients::session::{Tools, play, root};

use crate::assets::assets;
use crate::images;
use crate::lab::run;
use crate::scenario::IPXE;

/// Limit for each of its commands.
const DEADLINE: Duration = Duration::from_secs(600);

/// Runs `docs/tutorials/bare-metal.md` literally: three machines, two of them with hosts, one without.
pub async fn three_machines() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (image, files) = (folder.path().join("images"), folder.path().join("boot-files"));
    std::fs::create_dir(&image)?;
    let raw = images::small("tutorial", folder.path()).await?.path;
    run("qemu-img", &["convert", "-c", "-O", "qcow2", text(&raw)?, text(&image.join("debian.qcow2"))?])
        .await?;
    run("cp", &["-r", text(&assets())?, text(&files)?]).await?;
    run("cp", &["-r", IPXE, text(&files)?]).await?;
    let mut tools = Tools::find().map_err(|reason| anyhow!(reason))?;
    tools.files.extend([("images", image), ("boot-files", files)]);
    tools.deadline = DEADLINE;
    play(&root().join("docs/tutorials/bare-metal.md"), &tools, false).await
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is text")
}
