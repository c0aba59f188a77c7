//! The picture of the live view in the README, which is made of the program's own screens. UPDATE_EXPECT=1 writes it.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::fmt::Write as _;
use std::path::Path;

use vt100::Color;

use crate::terminal::{Terminal, is_complete, tree};

const PICTURE: &str = "../../docs/pictures/up.svg";
const SIZE: (u16, u16) = (106, 33);
/// The size of a character in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
/// The colours of a terminal: the indexed ones, and the default.
const COLOURS: [&str; 8] =
    ["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#e6edf3"];
const DEFAULT_COLOUR: &str = "#e6edf3";
/// The time for which each screen is shown in seconds; the last one longer.
const SHOWN: u32 = 2;
const SHOWN_LAST: u32 = 6;

/// A piece of a line in one colour: its column, its text, its colour.
type Piece = (usize, String, &'static str);
/// A screen, by lines.
type Screen = Vec<Vec<Piece>>;

#[test]
fn the_picture_shows_what_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("firstlight");
    let terminal = Terminal::start(SIZE, &[], &data);
    let begun = |lines: &[String]| tree(lines).len() > 3;
    let is_available =
        |lines: &[String]| begun(lines) && lines.iter().any(|line| line.starts_with("Available after"));
    let is_last = |lines: &[String]| {
        is_complete(lines) && lines.iter().any(|line| line.starts_with("All machines are there"))
    };
    let screen = || terminal.with_screen(|screen| read(screen, data.to_str().unwrap()));
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
        std::fs::write(&path, draw(&screens)).unwrap();
    }
    let drawn = std::fs::read_to_string(&path).unwrap();
    let last = drawn.split("<g ").last().unwrap();
    let (expected, found) = (shape(last), shape(&lines(screens.last().unwrap())));
    assert_eq!(expected, found, "UPDATE_EXPECT=1 makes the picture anew");
}

/// Reads a screen. The data directory and the port get the names that they have for a user.
fn read(screen: &vt100::Screen, data: &str) -> Screen {
    let line = |row: u16| {
        let mut pieces: Vec<Piece> = Vec::new();
        for column in 0..SIZE.0 {
            let Some(cell) = screen.cell(row, column) else { break };
            let colour = match cell.fgcolor() {
                Color::Idx(index) => COLOURS[usize::from(index) % COLOURS.len()],
                _ if cell.dim() => COLOURS[0],
                _ => DEFAULT_COLOUR,
            };
            let text = if cell.has_contents() { cell.contents() } else { " " };
            match pieces.last_mut().filter(|(.., known)| *known == colour) {
                Some((_, known, _)) => known.push_str(text),
                None => pieces.push((usize::from(column), text.to_owned(), colour)),
            }
        }
        for (_, text, _) in &mut pieces {
            *text = text.trim_end().replace(data, "/home/you/.local/share/firstlight");
            if let Some((start, _)) = text.split_once("//127.0.0.1:") {
                *text = format!("{start}//127.0.0.1:6443");
            }
        }
        pieces.retain(|(_, text, _)| !text.is_empty());
        pieces
    };
    (0..SIZE.1).map(line).collect()
}

/// Draws the lines of a screen.
fn lines(screen: &Screen) -> String {
    let mut drawn = String::new();
    for (row, pieces) in screen.iter().enumerate() {
        for (column, text, colour) in pieces {
            let indent = text.chars().take_while(|c| *c == ' ').count();
            let text = text.trim_start();
            let (x, y) = ((column + indent) as f64 * CELL.0 + 16.0, (row + 2) as f64 * CELL.1 + 24.0);
            let width = text.chars().count() as f64 * CELL.0;
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            writeln!(
                drawn,
                r#"<text x="{x:.1}" y="{y}" fill="{colour}" textLength="{width:.1}">{text}</text>"#
            )
            .unwrap();
        }
    }
    drawn
}

/// Draws screens that follow each other, and begin again after the last one.
fn draw(screens: &[Screen]) -> String {
    let total = SHOWN * (screens.len() as u32 - 1) + SHOWN_LAST;
    let (width, height) = (f64::from(SIZE.0) * CELL.0 + 32.0, f64::from(SIZE.1 + 2) * CELL.1 + 24.0);
    let mut picture = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve" role="img"><title>firstlight up</title>
<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>
<text x="16" y="28" fill="#8b949e">$ firstlight up -f examples/first-cluster.yaml</text>
<style>"##
    );
    for number in 0..screens.len() as u32 {
        let begins = f64::from(number * SHOWN * 100) / f64::from(total);
        let ends = if number as usize + 1 == screens.len() {
            100.0
        } else {
            f64::from((number + 1) * SHOWN * 100) / f64::from(total)
        };
        // The last screen is what a viewer without animations shows.
        let otherwise = if ends < 100.0 { 0 } else { 1 };
        write!(
            picture,
            "#s{number}{{opacity:{otherwise};animation:k{number} {total}s step-end infinite}}@keyframes k{number}{{0%{{opacity:0}}{begins:.2}%{{opacity:1}}{ends:.2}%{{opacity:0}}}}"
        )
        .unwrap();
    }
    picture.push_str("</style>\n");
    for (number, screen) in screens.iter().enumerate() {
        write!(picture, "<g id=\"s{number}\">\n{}</g>\n", lines(screen)).unwrap();
    }
    picture + "</svg>\n"
}

/// The words of drawn lines without what differs each time: numbers, durations, and the ends of names.
fn shape(drawn: &str) -> Vec<String> {
    let texts = drawn.split("<text ").skip(1).filter_map(|text| text.split('>').nth(1)?.split('<').next());
    texts
        .flat_map(|text| text.split(' ').map(word).collect::<Vec<String>>())
        .filter(|word| !word.is_empty())
        .collect()
}

fn word(text: &str) -> String {
    let machine = ["first-control-plane-", "first-workers-"].into_iter().find(|name| text.starts_with(name));
    let text = machine.unwrap_or(text);
    let mut shape = String::new();
    let mut after_digit = false;
    for c in text.chars() {
        let is_unit = after_digit && "hms".contains(c);
        if !c.is_ascii_digit() && c != '.' && !is_unit {
            shape.push(c);
        }
        after_digit = c.is_ascii_digit() || c == '.';
    }
    shape
}
