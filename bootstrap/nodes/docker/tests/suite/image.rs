//! The image of a node that is no node, and starts in a moment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::engine::{Engine, Kind};

/// Its name. It has the names of a node's programs.
pub const IMAGE: &str = "kindest/node:v1.36.3";
/// An init that ends with 7 when systemd's would halt.
const INIT: &str = "#!/bin/sh\ntrap 'echo bye; exit 7' 37\necho \"init runs as $$\"\nwhile :; do sleep 1000 & wait $!; done\n";

impl Engine {
    /// Makes the image of a node and returns an archive with it. The daemon does not have it afterwards.
    pub fn image(&self) -> Result<PathBuf> {
        let archive = self.folder.join("node.tar");
        let tree = self.folder.join("tree");
        fs::remove_dir_all(&tree).ok();
        for folder in
            ["bin", "sbin", "usr/bin", "kind", "var/lib", "lib64", "tmp", "run", "etc", "proc", "sys", "dev"]
        {
            fs::create_dir_all(tree.join(folder))?;
        }
        let write = |path: &str, text: &str| -> Result<()> {
            let path = tree.join(path);
            fs::write(&path, text)?;
            Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
        };
        write("sbin/init", INIT)?;
        write("kind/version", "v1.36.3\n")?;
        write("var/lib/marker", "of the image\n")?;
        for program in node_images::PROGRAMS {
            write(&format!("usr/bin/{program}"), "#!/bin/sh\n")?;
        }
        let shell = "set -e; cp \"$(command -v busybox)\" bin/busybox; for name in sh cat sleep wc ps grep echo ls id head; do ln -s busybox bin/$name; done
            cp /usr/bin/timeout usr/bin/; for file in $(ldd /usr/bin/timeout | grep -o '/[^ ]*'); do mkdir -p .${file%/*}; cp -L $file .$file; done";
        let status = Command::new("sh").args(["-c", shell]).current_dir(&tree).status()?;
        ensure!(status.success(), "busybox-static and coreutils are needed");
        let packed = self.folder.join("tree.tar");
        let status = Command::new("tar").arg("-C").arg(&tree).arg("-cf").arg(&packed).arg(".").status()?;
        ensure!(status.success(), "tar failed");
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let name = match self.kind {
            Kind::Docker => IMAGE.to_owned(),
            Kind::Podman => format!("docker.io/{IMAGE}"),
        };
        self.client(&["import", "--change", "ENTRYPOINT [\"/sbin/init\"]", &text(&packed), &name])?;
        fs::remove_file(&archive).ok();
        self.client(&["save", "-o", &text(&archive), &name])?;
        self.client(&["rmi", &name])?;
        Ok(archive)
    }
}
