//! What a container without a root folder of its own needs in the place of paths that are the same for all of them: a folder for temporary files,
//! in which controller-runtime looks for certificates, and a kubeconfig instead of the files of a service account.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::needs::API_ACCESS_PATH;
use crate::plan::{Paths, Planned};

/// Makes the private files of a container that has no root folder of its own, in the folder of its Pod. Variables that the Pod sets stay.
pub(super) fn make_private(
    folder: &Path,
    container: &str,
    server: &str,
    planned: &mut Planned,
) -> Result<()> {
    let Some(paths) = &planned.paths else { return Ok(()) };
    let temporary = folder.join("tmp").join(container);
    fs::create_dir_all(&temporary).with_context(|| format!("cannot make {}", temporary.display()))?;
    for (link, target) in paths.links(&temporary) {
        link_to(&link, &target).with_context(|| format!("cannot make the link {}", link.display()))?;
    }
    let kubeconfig = folder.join("files").join(container).join("kubeconfig");
    fs::write(&kubeconfig, self::kubeconfig(paths, server))
        .with_context(|| format!("cannot write {}", kubeconfig.display()))?;
    let variables = &mut planned.instruction.environment;
    for (name, value) in [("TMPDIR", &temporary), ("KUBECONFIG", &kubeconfig)] {
        if variables.iter().all(|(known, _)| known != name) {
            variables.push((name.to_owned(), value.display().to_string()));
        }
    }
    Ok(())
}

fn link_to(link: &Path, target: &Path) -> Result<()> {
    if let Some(parent) = link.parent() {
        fs::create_dir_all(parent)?;
    }
    // It is there from an earlier start.
    fs::remove_file(link).ok();
    Ok(symlink(target, link)?)
}

/// Returns a kubeconfig with the files of the container's service account. It names them, and has no token itself.
fn kubeconfig(paths: &Paths, server: &str) -> String {
    let file = |name: &str| paths.on_this_machine(&format!("{API_ACCESS_PATH}/{name}"));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "pod",
        "clusters": [{"name": "pod", "cluster": {"server": server, "certificate-authority": file("ca.crt")}}],
        "users": [{"name": "pod", "user": {"tokenFile": file("token")}}],
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod"}}],
    });
    config.to_string()
}
