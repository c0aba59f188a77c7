//! Where the values of a YAML document stand in its text.

use libyaml_safer::{Event, EventData, MappingStyle, Mark, Parser, ScalarStyle, SequenceStyle};
use machinery::limits::MAX_DEPTH;

/// A value, with the bytes of the text that it takes. The end is that of its last character, without a comment behind it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The number of characters before it on its line.
    pub(super) column: usize,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    /// A scalar, and whether it stands without quotes.
    Scalar { text: String, is_plain: bool },
    /// A list, and whether it stands in brackets.
    List { items: Vec<Node>, is_flow: bool },
    /// An object, and whether it stands in braces.
    Map { fields: Vec<(Node, Node)>, is_flow: bool },
    /// A reference to a value elsewhere.
    Alias,
}

impl Node {
    /// Returns the key and the value of a field.
    pub(super) fn field(&self, name: &str) -> Option<(&Node, &Node)> {
        let Content::Map { fields, .. } = &self.content else { return None };
        let found = fields.iter().find(|(key, _)| key.is_text(name));
        found.map(|(key, value)| (key, value))
    }

    pub(super) fn is_text(&self, expected: &str) -> bool {
        matches!(&self.content, Content::Scalar { text, .. } if text == expected)
    }

    /// Returns whether the value is null, written or left out.
    pub(super) fn is_null(&self) -> bool {
        let Content::Scalar { text, is_plain: true } = &self.content else { return false };
        ["", "~", "null", "Null", "NULL"].contains(&text.as_str())
    }
}

/// Returns the only document of a text; `None` if the text is no YAML or has several documents. The document is null if there is none.
pub(super) fn layout(text: &str) -> Option<Node> {
    let mut input = text.as_bytes();
    let mut parser = Parser::new();
    parser.set_input(&mut input);
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    starts.push(text.len());
    let mut reader = Reader { parser, starts };
    let mut document = None;
    loop {
        let event = reader.next()?;
        match event.data {
            EventData::StreamStart { .. }
            | EventData::DocumentStart { .. }
            | EventData::DocumentEnd { .. } => {}
            EventData::StreamEnd => break,
            _ if document.is_some() => return None,
            _ => document = Some(reader.node(event, 0)?),
        }
    }
    let nothing = || Content::Scalar { text: String::new(), is_plain: true };
    Some(document.unwrap_or_else(|| Node {
        start: text.len(),
        end: text.len(),
        column: 0,
        content: nothing(),
    }))
}

struct Reader<'r> {
    parser: Parser<&'r mut &'r [u8]>,
    /// The byte at which each character starts.
    starts: Vec<usize>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Event> {
        self.parser.parse().ok()
    }

    fn byte(&self, mark: &Mark) -> Option<usize> {
        self.starts.get(usize::try_from(mark.index).ok()?).copied()
    }

    fn node(&mut self, event: Event, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        let (start, mut end) = (self.byte(&event.start_mark)?, self.byte(&event.end_mark)?);
        let column = usize::try_from(event.start_mark.column).ok()?;
        let content = match event.data {
            EventData::Scalar { value, style, tag, .. } => {
                Content::Scalar { text: value, is_plain: style == ScalarStyle::Plain && tag.is_none() }
            }
            EventData::Alias { .. } => Content::Alias,
            EventData::SequenceStart { style, .. } => {
                let (items, closed) = self.items(depth)?;
                let is_flow = style == SequenceStyle::Flow;
                end = if is_flow { closed } else { items.last().map_or(end, |item| item.end) };
                Content::List { items, is_flow }
            }
            EventData::MappingStart { style, .. } => {
                let (fields, closed) = self.fields(depth)?;
                let is_flow = style == MappingStyle::Flow;
                end = if is_flow { closed } else { fields.last().map_or(end, |(_, value)| value.end) };
                Content::Map { fields, is_flow }
            }
            _ => return None,
        };
        Some(Node { start, end, column, content })
    }

    /// Returns the items of a list, and the end of its closing bracket.
    fn items(&mut self, depth: usize) -> Option<(Vec<Node>, usize)> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if event.data == EventData::SequenceEnd {
                return Some((items, self.byte(&event.end_mark)?));
            }
            items.push(self.node(event, depth + 1)?);
        }
    }

    /// Returns the fields of an object, and the end of its closing brace.
    fn fields(&mut self, depth: usize) -> Option<(Vec<(Node, Node)>, usize)> {
        let mut fields = Vec::new();
        loop {
            let event = self.next()?;
            if event.data == EventData::MappingEnd {
                return Some((fields, self.byte(&event.end_mark)?));
            }
            let key = self.node(event, depth + 1)?;
            let event = self.next()?;
            let value = self.node(event, depth + 1)?;
            fields.push((key, value));
        }
    }
}
