//! What this test program does as a hostile program of a container. Each of these tests does nothing elsewhere.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::mount::{MountFlags, mount_remount};

use super::program::role;

/// The place of the volume that it attacks.
pub const VOLUME: &str = "/v";
/// The links that [`planter`] leaves in the volume.
pub const LINKS: [&str; 5] = ["absolute", "relative", "process", "inside", "real/deep"];

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}

/// Tries to change the volumes whose places it is told.
#[test]
fn vandal() {
    let Some(folders) = role() else { return };
    for folder in folders.split(':') {
        let at = |name: &str| Path::new(folder).join(name);
        let tries: [(&str, io::Result<()>); 8] = [
            ("file", fs::write(at("own"), "x")),
            ("folder", fs::create_dir(at("own"))),
            ("link", symlink("/", at("own"))),
            ("removal", fs::remove_file(at("..data"))),
            ("exchange", fs::rename(at("..data"), at("moved"))),
            ("content", fs::write(at("key"), "x")),
            ("mode", fs::set_permissions(folder, fs::Permissions::from_mode(0o777))),
            ("mount", mount_remount(folder, MountFlags::BIND, "").map_err(io::Error::from)),
        ];
        for (what, tried) in tries {
            println!("{folder} {what} {:?}", tried.map_err(|error| error.kind()));
        }
    }
    println!("tried everything");
    forever();
}

/// Leaves links in the volume that lead to a folder of the machine, or to another one of the volume.
#[test]
fn planter() {
    let Some(target) = role() else { return };
    let at = |name: &str| Path::new(VOLUME).join(name);
    fs::create_dir(at("real")).unwrap();
    fs::write(at("real/key"), "real").unwrap();
    let upwards = format!("{}{target}", "../".repeat(20));
    for (link, to) in
        LINKS.iter().zip([target.as_str(), &upwards, &format!("/proc/1/root{target}"), "real", &target])
    {
        symlink(to, at(link)).unwrap();
    }
}

/// Exchanges a folder of the volume and a link to a folder of the machine as fast as it can.
#[test]
fn racer() {
    let Some(target) = role() else { return };
    let at = |name: &str| Path::new(VOLUME).join(name);
    fs::create_dir(at("x")).unwrap();
    symlink(target, at("y")).unwrap();
    println!("races");
    loop {
        renameat_with(CWD, at("x"), CWD, at("y"), RenameFlags::EXCHANGE).unwrap();
    }
}

/// Writes a termination message of this many bytes, or a hole of this many GiB before its last words.
#[test]
fn speaker() {
    let Some(told) = role() else { return };
    let mut file = fs::OpenOptions::new().write(true).open("/dev/termination-log").unwrap();
    if let Some(hole) = told.strip_suffix("Gi") {
        file.seek(SeekFrom::Start(hole.parse::<u64>().unwrap() << 30)).unwrap();
        file.write_all(b"last words").unwrap();
    } else {
        file.write_all(&vec![b'x'; told.parse().unwrap()]).unwrap();
    }
    std::process::exit(3);
}
