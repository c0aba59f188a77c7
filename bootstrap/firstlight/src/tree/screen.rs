//! Draws the tree: in place on a terminal, otherwise as lines with changes.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Stdout, Write};

use crossterm::cursor::{MoveTo, MoveUp};
use crossterm::style::Print;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use crossterm::{QueueableCommand, terminal as crossterm_terminal};
use machinery::clock::Clock;
use tokio::time::Instant;

use super::changes::{Changes, every};
use super::model::Entry;
use super::render;

/// The columns and rows of a terminal that does not tell them.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// The output of `up`: text that stays, and the tree below it.
pub struct Screen {
    clock: Clock,
    start: Instant,
    /// The line below the tree: what keys do.
    footer: &'static str,
    terminal: Option<Terminal>,
    /// Without a terminal: what was printed of each object.
    lines: Lines,
    /// Whether there was a cluster, or a machine.
    had_entries: bool,
}

/// How changes are printed without a terminal.
enum Lines {
    /// A line for each phase.
    Phases(Changes),
    /// Each change, with all causes.
    Every(BTreeMap<String, String>),
}

/// A terminal on standard output.
struct Terminal {
    size: (u16, u16),
    /// The number of lines of the tree that are on the screen.
    drawn: usize,
    /// All text above the tree. It is printed again after a change of the size, since terminals wrap old lines in different ways.
    above: String,
    colour: bool,
}

impl Screen {
    /// Creates a screen on standard output, with a line below the tree that says what keys do. `is_verbose` is about output without a
    /// terminal: every change of every condition, instead of a line for each phase.
    pub fn new(clock: &Clock, footer: &'static str, is_verbose: bool) -> Self {
        let moves = std::io::stdout().is_terminal() && !is_dumb();
        let terminal =
            moves.then(|| Terminal { size: size(), drawn: 0, above: String::new(), colour: has_colours() });
        let lines = match is_verbose {
            true => Lines::Every(BTreeMap::new()),
            false => Lines::Phases(Changes::default()),
        };
        Self { clock: clock.clone(), start: clock.monotonic(), footer, terminal, lines, had_entries: false }
    }

    /// Returns whether the tree is redrawn in place. Then it must be redrawn regularly, because it contains ages.
    pub fn is_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// Prints text above the tree, where it stays. The next [`Screen::draw`] shows the tree again.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn print(&mut self, text: &str) -> std::io::Result<()> {
        let (mut out, text) = (std::io::stdout(), &::terminal::lines(text));
        if let Some(terminal) = &mut self.terminal {
            terminal.erase(&mut out)?;
            terminal.above.push_str(text);
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Prints a paragraph: above the tree, or after the lines about changes.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn print_paragraph(&mut self, text: &str) -> std::io::Result<()> {
        let before = if self.is_terminal() { "" } else { "\n" };
        self.print(&format!("{before}{text}\n"))
    }

    /// Draws the tree.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn draw(&mut self, entries: &[Entry]) -> std::io::Result<()> {
        let mut out = std::io::stdout();
        let now = self.clock.now();
        let Some(terminal) = &mut self.terminal else {
            let time = now.format("%H:%M:%S%.3f");
            let lines = match &mut self.lines {
                Lines::Phases(changes) => changes.phases(entries, self.start.elapsed()),
                Lines::Every(before) => every(before, entries),
            };
            for line in lines {
                writeln!(out, "{time} {line}")?;
            }
            return out.flush();
        };
        self.had_entries |= !entries.is_empty();
        out.queue(BeginSynchronizedUpdate)?;
        terminal.erase(&mut out)?;
        let (columns, rows) = terminal.size;
        // The cursor is on the line below the tree. A line of all columns would wrap on some terminals.
        let (width, rows) = (usize::from(columns.max(2)) - 1, usize::from(rows.max(2)) - 1);
        let mut lines = render::fitted(entries, now, (width, rows), terminal.colour);
        if entries.is_empty() {
            let word = if self.had_entries { "No cluster is left." } else { "No clusters yet." };
            lines.push(word.to_owned());
        }
        // An empty line, and the footer, if there is room.
        if lines.len() + 2 <= rows {
            let footer = ::terminal::cut(self.footer, width);
            let footer = if terminal.colour { format!("\u{1b}[2m{footer}\u{1b}[0m") } else { footer };
            lines.extend([String::new(), footer]);
        }
        terminal.drawn = lines.len();
        for line in lines {
            out.queue(Print(line))?.queue(Print("\n"))?;
        }
        out.queue(EndSynchronizedUpdate)?;
        out.flush()
    }
}

impl Terminal {
    /// Removes the tree from the screen. After a change of the size, the whole screen is drawn anew.
    fn erase(&mut self, out: &mut Stdout) -> std::io::Result<()> {
        let size = size();
        if size != self.size {
            self.size = size;
            out.queue(Clear(ClearType::All))?.queue(MoveTo(0, 0))?.queue(Print(&self.above))?;
        } else if self.drawn > 0 {
            out.queue(MoveUp(u16::try_from(self.drawn).unwrap_or(u16::MAX)))?;
            out.queue(Print("\r"))?.queue(Clear(ClearType::FromCursorDown))?;
        }
        self.drawn = 0;
        Ok(())
    }
}

/// Returns whether a terminal may get colours: not if it is dumb, or if the variable `NO_COLOR` is set.
pub fn has_colours() -> bool {
    !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns whether the terminal is dumb, so that it cannot move the cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Returns the columns that a line may have, if standard output is a terminal.
pub fn width() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| usize::from(size().0))
}

/// Returns the columns and rows of the terminal.
fn size() -> (u16, u16) {
    // Some pseudo-terminals report a size of zero until somebody sets it.
    let found = crossterm_terminal::size().ok().filter(|(columns, rows)| *columns > 0 && *rows > 0);
    found.unwrap_or(DEFAULT_SIZE)
}
