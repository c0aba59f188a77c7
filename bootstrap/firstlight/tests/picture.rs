//! The picture of the live view in the README, which is made of the program's own screens. UPDATE_EXPECT=1 writes it.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;

use test_terminal::picture::{Frame, draw, last_shape};

use crate::terminal::{is_complete, start, tree};

const PICTURE: &str = "../../docs/pictures/up.svg";
const COMMAND: &str = "firstlight up -f examples/first-cluster.yaml";
const SIZE: (u16, u16) = (106, 33);
/// The beginnings of the names of machines.
const MACHINES: [&str; 2] = ["first-control-plane-", "first-workers-"];

#[test]
fn the_picture_shows_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("firstlight");
    let terminal = start(SIZE, &[], &data);
    let begun = |lines: &[String]| tree(lines).len() > 3;
    let is_available =
        |lines: &[String]| begun(lines) && lines.iter().any(|line| line.starts_with("Available after"));
    let has = |lines: &[String], start: &str| lines.iter().any(|line| line.starts_with(start));
    // The footer is written last: without it, the screen is only partly drawn.
    let is_last = |lines: &[String]| {
        is_complete(lines) && has(lines, "All machines are there") && has(lines, "Ctrl-C stops")
    };
    let named = |text: String| named(text, data.to_str().unwrap());
    let screen = || terminal.with_screen(|screen| Frame::read(COMMAND, screen, named));
    terminal.wait(begun);
    let first = screen();
    terminal.wait(is_available);
    let second = screen();
    terminal.wait(is_last);
    let screens = [first, second, screen()];
    assert_eq!(terminal.interrupt(), Some(0));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PICTURE);
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, draw("firstlight up", SIZE, &screens)).unwrap();
    }
    let drawn = std::fs::read_to_string(&path).unwrap();
    let found = screens.last().unwrap().shape(&MACHINES);
    assert_eq!(last_shape(&drawn, &MACHINES), found, "UPDATE_EXPECT=1 makes the picture anew");
}

/// Gives the data directory and the port the names that they have for a user.
fn named(text: String, data: &str) -> String {
    let text = text.replace(data, "/home/you/.local/share/firstlight");
    match text.split_once("//127.0.0.1:") {
        Some((start, _)) => format!("{start}//127.0.0.1:6443"),
        None => text,
    }
}
