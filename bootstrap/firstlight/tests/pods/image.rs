//! An image with a shell of this machine, as an archive of `docker save`.

use std::path::{Path, PathBuf};
use std::process::Command;

use bundle::Digest;
use serde_json::json;
use tar::{Builder, EntryType, Header};

/// The name of the image.
pub const NAME: &str = "registry.example/shell:v1";
/// Where this test program is in an image that has it.
pub const PROGRAM: &str = "/bin/program";

/// The name of an image that always has this test program.
pub const PROGRAM_NAME: &str = "registry.example/program:v1";

/// Writes the archive to `folder`, with this test program if it is needed, which is large.
pub fn write(folder: &Path, with_program: bool) -> PathBuf {
    write_as(folder, "shell.tar", NAME, with_program)
}

/// The same for an image with another name.
pub fn write_as(folder: &Path, file: &str, name: &str, with_program: bool) -> PathBuf {
    let layer = layer(with_program);
    let architecture = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    let config = json!({
        "architecture": architecture, "os": "linux",
        "config": {"User": "nonroot", "Env": ["PATH=/bin"], "Entrypoint": ["/bin/sh", "-c"]},
        "rootfs": {"type": "layers", "diff_ids": [Digest::of(&layer)]},
    });
    let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
    let path = folder.join(file);
    let mut archive = Builder::new(std::fs::File::create(&path).unwrap());
    add(&mut archive, "layer.tar", &layer);
    add(&mut archive, "config.json", config.to_string().as_bytes());
    add(&mut archive, "manifest.json", manifest.to_string().as_bytes());
    archive.into_inner().unwrap();
    path
}

fn layer(with_program: bool) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    if with_program {
        let own = std::env::current_exe().unwrap();
        add(&mut archive, PROGRAM.trim_start_matches('/'), &std::fs::read(&own).unwrap());
        for (path, source) in libraries(&own) {
            add(&mut archive, &path, &std::fs::read(source).unwrap());
        }
    }
    for program in ["sh", "sleep", "cat"] {
        let found = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(program));
        let found = found.iter().find(|path| path.exists()).unwrap();
        add(&mut archive, &format!("bin/{program}"), &std::fs::read(found).unwrap());
        for (path, source) in libraries(found) {
            add(&mut archive, &path, &std::fs::read(source).unwrap());
        }
    }
    add(
        &mut archive,
        "etc/passwd",
        b"root:x:0:0::/root:/bin/sh\nnonroot:x:65532:65532::/home/nonroot:/bin/sh\n",
    );
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    archive.append_data(&mut header, "data", std::io::empty()).unwrap();
    archive.into_inner().unwrap()
}

/// Returns the libraries and the loader of a program, with their paths in the image.
fn libraries(program: &Path) -> Vec<(String, String)> {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let paths = listed.lines().filter_map(|line| {
        let path = line.split_whitespace().find(|word| word.starts_with('/'))?;
        Some((path.trim_start_matches('/').to_owned(), path.to_owned()))
    });
    paths.collect()
}

fn add(archive: &mut Builder<impl std::io::Write>, path: &str, content: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, path, content).unwrap();
}
