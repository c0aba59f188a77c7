//! The part of jinja that bootstrap data uses: variables of the metadata, comments and `{% raw %}`.
//!
//! As in cloud-init (`templater.py`), only a text whose first line is `## template: jinja` is a template. What is
//! unknown is an error, where cloud-init would write `CI_MISSING_JINJA_VAR/NAME` into the files.

use crate::error::Error;
use crate::metadata::Metadata;
use crate::steps::shown;

/// Renders a template. Other text is returned as it is. Lines keep their numbers up to the first comment.
pub fn render(text: &str, metadata: &Metadata) -> Result<String, Error> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let Some(kind) = template_kind(first) else { return Ok(text.to_owned()) };
    match kind.as_str() {
        "jinja" => Template { text: rest, at: 0, metadata, out: String::from("\n") }.render(),
        "basic" => Ok(format!("\n{rest}")),
        other => {
            let why = format!("the template {:?} is not known: use jinja", shown(other, 40));
            Err(Error::Line { line: 1, why })
        }
    }
}

/// Returns the kind of the template in lower case, if the line says that the text is one.
fn template_kind(line: &str) -> Option<String> {
    let rest = line.strip_prefix("##")?.trim_start().to_ascii_lowercase();
    Some(rest.strip_prefix("template:")?.trim().to_owned())
}

struct Template<'t> {
    text: &'t str,
    at: usize,
    metadata: &'t Metadata,
    out: String,
}

impl<'t> Template<'t> {
    fn render(mut self) -> Result<String, Error> {
        while let Some(found) = self.next_tag() {
            self.out.push_str(&self.text[self.at..found]);
            self.at = found;
            match &self.text[found..found + 2] {
                "{{" => self.variable()?,
                "{#" => {
                    self.until("#}", "a comment")?;
                    self.line_break();
                }
                _ => self.block()?,
            }
        }
        self.out.push_str(&self.text[self.at..]);
        Ok(self.out)
    }

    fn next_tag(&self) -> Option<usize> {
        let pairs = self.text.as_bytes()[self.at..].windows(2);
        let mut tags = pairs.enumerate().filter(|(_, pair)| matches!(pair, [b'{', b'{' | b'%' | b'#']));
        tags.next().map(|(found, _)| self.at + found)
    }

    /// Takes the tag up to its end, and returns what is inside. A hyphen at either end takes the white space there.
    fn until(&mut self, end: &str, what: &str) -> Result<&'t str, Error> {
        let inside = &self.text[self.at + 2..];
        let length = inside.find(end).ok_or_else(|| self.error(&format!("{what} of jinja has no {end}")))?;
        let inside = &inside[..length];
        self.at += 2 + length + end.len();
        if inside.starts_with('-') {
            self.out.truncate(self.out.trim_end().len());
        }
        if inside.len() > 1 && inside.ends_with('-') {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
        }
        Ok(inside)
    }

    fn variable(&mut self) -> Result<(), Error> {
        let start = self.at;
        let inside = self.until("}}", "a variable")?;
        let path = path(without_hyphens(inside));
        let value = path.as_deref().and_then(|path| self.metadata.variable(path));
        let Some(value) = value else {
            self.at = start;
            return Err(self.error(&format!(
                "{{{{{}}}}} is not known in a node: use {{{{ ds.meta_data.local_hostname }}}}, or write \
                 {{% raw %}} and {{% endraw %}} around braces that are meant as text",
                shown(inside, 60)
            )));
        };
        self.out.push_str(value);
        Ok(())
    }

    /// Takes `{% raw %}` with all up to `{% endraw %}`.
    fn block(&mut self) -> Result<(), Error> {
        let start = self.at;
        let word = without_hyphens(self.until("%}", "a block")?);
        if word != "raw" {
            self.at = start;
            return Err(self.error(&format!("{{% {} %}} cannot be rendered in a node", shown(word, 60))));
        }
        let (mut search, text) = (self.at, self.text);
        while let Some(close) = text[search..].find("%}").map(|found| found + search) {
            let open = text[search..close].rfind("{%").map(|found| found + search);
            if let Some(open) = open.filter(|open| without_hyphens(&text[open + 2..close]) == "endraw") {
                self.out.push_str(&text[self.at..open]);
                self.at = open;
                self.until("%}", "a block")?;
                self.line_break();
                return Ok(());
            }
            search = close + 2;
        }
        self.at = start;
        Err(self.error("{% raw %} has no {% endraw %}"))
    }

    /// Drops the line break behind a comment or a block, as cloud-init's environment does (`trim_blocks`).
    fn line_break(&mut self) {
        if self.text[self.at..].starts_with('\n') {
            self.at += 1;
        }
    }

    fn error(&self, why: &str) -> Error {
        // The header is line 1.
        let line = self.text[..self.at].matches('\n').count() + 2;
        Error::Line { line, why: why.to_owned() }
    }
}

fn without_hyphens(inside: &str) -> &str {
    let inside = inside.strip_prefix('-').unwrap_or(inside);
    inside.strip_suffix('-').unwrap_or(inside).trim()
}

/// Reads `a.b['c']["d"]`. Hyphens are underscores, as in cloud-init's aliases.
fn path(text: &str) -> Option<Vec<String>> {
    let mut rest = text;
    let mut names = Vec::new();
    loop {
        let name = if names.is_empty() || rest.starts_with('.') {
            rest = rest.strip_prefix('.').filter(|_| !names.is_empty()).unwrap_or(rest);
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            rest = behind;
            name
        } else {
            let inside = rest.strip_prefix('[')?.trim_start();
            let quote = inside.chars().next().filter(|c| *c == '\'' || *c == '"')?;
            let (name, behind) = inside[1..].split_once(quote)?;
            rest = behind.trim_start().strip_prefix(']')?;
            name
        };
        if name.is_empty() {
            return None;
        }
        names.push(name.replace('-', "_"));
        if rest.is_empty() {
            return Some(names);
        }
    }
}
