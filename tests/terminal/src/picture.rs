//! Pictures of screens, as SVG with the screens one after the other.

use std::fmt::Write as _;

use vt100::Color;

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

/// A screen, below the command that is running.
#[derive(Debug, Clone)]
pub struct Frame {
    command: String,
    lines: Vec<Vec<Piece>>,
}

impl Frame {
    /// Reads a screen. `rewrite` gives texts the names that they have for a user, for example of folders.
    pub fn read(command: &str, screen: &vt100::Screen, rewrite: impl Fn(String) -> String) -> Self {
        let (rows, columns) = screen.size();
        let line = |row: u16| {
            let mut pieces: Vec<Piece> = Vec::new();
            for column in 0..columns.get() {
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
                *text = rewrite(text.trim_end().to_owned());
            }
            pieces.retain(|(_, text, _)| !text.is_empty());
            pieces
        };
        Self { command: command.to_owned(), lines: (0..rows.get()).map(line).collect() }
    }

    /// Draws the lines.
    fn draw(&self) -> String {
        let mut drawn =
            format!("<text x=\"16\" y=\"28\" fill=\"#8b949e\">$ {}</text>\n", escape(&self.command));
        for (row, pieces) in self.lines.iter().enumerate() {
            for (column, text, colour) in pieces {
                let indent = text.chars().take_while(|c| *c == ' ').count();
                let text = text.trim_start();
                let (x, y) = ((column + indent) as f64 * CELL.0 + 16.0, (row + 2) as f64 * CELL.1 + 24.0);
                let width = text.chars().count() as f64 * CELL.0;
                let text = escape(text);
                // Writing to a String does not fail.
                let _ = writeln!(
                    drawn,
                    r#"<text x="{x:.1}" y="{y}" fill="{colour}" textLength="{width:.1}">{text}</text>"#
                );
            }
        }
        drawn
    }

    /// Returns the words without what differs each time: numbers, durations, and the ends of names, which begin with one of `names`.
    pub fn shape(&self, names: &[&str]) -> Vec<String> {
        shape(&self.draw(), names)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Draws screens of `size` columns and lines that follow each other, and begin again after the last one.
pub fn draw(title: &str, (columns, rows): (u16, u16), frames: &[Frame]) -> String {
    let count = u32::try_from(frames.len()).unwrap_or(u32::MAX);
    let total = SHOWN * (count - 1) + SHOWN_LAST;
    let (width, height) = (f64::from(columns) * CELL.0 + 32.0, f64::from(rows + 2) * CELL.1 + 24.0);
    let mut picture = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve" role="img"><title>{title}</title>
<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>
<style>"##
    );
    for number in 0..count {
        let begins = f64::from(number * SHOWN * 100) / f64::from(total);
        let ends = if number + 1 == count {
            100.0
        } else {
            f64::from((number + 1) * SHOWN * 100) / f64::from(total)
        };
        // The last screen is what a viewer without animations shows.
        let otherwise = if ends < 100.0 { 0 } else { 1 };
        let _ = write!(
            picture,
            "#s{number}{{opacity:{otherwise};animation:k{number} {total}s step-end infinite}}@keyframes k{number}{{0%{{opacity:0}}{begins:.2}%{{opacity:1}}{ends:.2}%{{opacity:0}}}}"
        );
    }
    picture.push_str("</style>\n");
    for (number, frame) in frames.iter().enumerate() {
        let _ = write!(picture, "<g id=\"s{number}\">\n{}</g>\n", frame.draw());
    }
    picture + "</svg>\n"
}

/// Returns [`Frame::shape`] of the last screen of a picture.
pub fn last_shape(picture: &str, names: &[&str]) -> Vec<String> {
    shape(picture.split("<g ").last().unwrap_or_default(), names)
}

fn shape(drawn: &str, names: &[&str]) -> Vec<String> {
    let texts = drawn.split("<text ").skip(1).filter_map(|text| text.split('>').nth(1)?.split('<').next());
    let words = texts.flat_map(|text| text.split(' ').map(|text| word(text, names)).collect::<Vec<String>>());
    words.filter(|word| !word.is_empty()).collect()
}

fn word(text: &str, names: &[&str]) -> String {
    let text = names.iter().find(|name| text.starts_with(**name)).copied().unwrap_or(text);
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
