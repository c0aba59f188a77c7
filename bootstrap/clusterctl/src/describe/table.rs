//! Writes columns and colours.

use unicode_width::UnicodeWidthStr;

/// The titles of the columns.
pub(super) const COLUMNS: Layout<9> = Layout {
    titles: ["NAME", "REPLICAS", "AVAILABLE", "READY", "UP TO DATE", "STATUS", "REASON", "SINCE", "MESSAGE"],
    gap: 2,
};
/// The titles for the conditions of v1beta1.
pub(super) const LEGACY: Layout<6> =
    Layout { titles: ["NAME", "READY", "SEVERITY", "REASON", "SINCE", "MESSAGE"], gap: 1 };

/// Titles, and how many spaces follow the widest cell; one space follows a title.
pub(super) struct Layout<const N: usize> {
    titles: [&'static str; N],
    gap: usize,
}

/// A text with its width and with its colours. Others wrote a part of it, so it is escaped.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    shown: String,
    width: usize,
}

impl Cell {
    /// Joins two cells.
    pub fn and(mut self, next: Self) -> Self {
        self.shown.push_str(&next.shown);
        self.width += next.width;
        self
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        let text = terminal::line(text.as_ref());
        Self { width: text.width(), shown: text.into_owned() }
    }
}

/// Whether to use colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(pub bool);

/// The colours in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    Grey,
    Red,
    Green,
    Yellow,
    White,
    Cyan,
    Bold,
    BoldWhite,
}

impl Paint {
    pub fn cell(self, colour: Colour, text: &str) -> Cell {
        let (begin, end) = match colour {
            Colour::Grey => ("90", "0"),
            Colour::Red => ("31", "0"),
            Colour::Green => ("32", "0"),
            Colour::Yellow => ("33", "0"),
            Colour::White => ("37", "0"),
            Colour::Cyan => ("36", "0"),
            Colour::Bold => ("1", "22"),
            Colour::BoldWhite => ("37;1", "0;22"),
        };
        let text = terminal::line(text);
        let width = text.width();
        let shown = if self.0 { format!("\x1b[{begin}m{text}\x1b[{end}m") } else { text.into_owned() };
        Cell { shown, width }
    }
}

/// Writes the table; every cell is as wide as its column, including the last one.
pub(super) fn text<const N: usize>(layout: &Layout<N>, rows: Vec<[Cell; N]>) -> String {
    let titles = layout.titles.map(Cell::from);
    let mut widths = titles.clone().map(|title| title.width + 1);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width + layout.gap);
        }
    }
    let mut text = String::new();
    for row in std::iter::once(titles).chain(rows) {
        for (cell, width) in row.iter().zip(widths) {
            text.push_str(&cell.shown);
            text.extend(std::iter::repeat_n(' ', width - cell.width));
        }
        text.push('\n');
    }
    text
}
