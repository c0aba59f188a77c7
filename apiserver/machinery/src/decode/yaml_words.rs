//! Translation of YAML syntax errors to the messages of go-yaml, which users know from kubectl.
//!
//! Both parsers descend from libyaml and find the same errors. The parser of this crate reports more detail about the
//! place and counts lines differently.

/// Translates an error of this crate's parser. `line` (from 1) is a line of the whole text, and the document begins on
/// `first_line`.
pub(super) fn syntax_error(message: &str, document: &str, line: usize, first_line: usize) -> String {
    let lines = document.lines().count();
    let (words, place) = match message {
        _ if message.contains("unclosed bracket")
            || message.contains("unexpected EOF while parsing a flow")
            || message.contains("unexpected eof") =>
        {
            (unfinished(document), Place::Parsed(first_line + lines))
        }
        _ if message.contains("unexpected EOF while parsing a block mapping") => {
            ("did not find expected key", Place::Parsed(first_line + lines))
        }
        _ if message.contains("unexpected EOF while parsing a block sequence") => {
            ("did not find expected '-' indicator", Place::Parsed(first_line + lines))
        }
        _ => known(message, line),
    };
    match place {
        // Neither message contains the first line. go-yaml's parser counts lines from 0.
        Place::Parsed(0 | 1) | Place::Scanned(0 | 1) => format!("yaml: {words}"),
        Place::Parsed(line) => format!("yaml: line {}: {words}", line - 1),
        Place::Scanned(line) => format!("yaml: line {line}: {words}"),
    }
}

/// The part of go-yaml that finds an error, with the line (from 1).
enum Place {
    Parsed(usize),
    Scanned(usize),
}

/// Messages of this crate's parser, with those of go-yaml's parser.
const PARSED: [(&str, &str); 6] = [
    ("did not find expected node content", "did not find expected node content"),
    ("did not find expected key", "did not find expected key"),
    ("did not find expected ',' or '}'", "did not find expected ',' or '}'"),
    ("expected ',' or ']'", "did not find expected ',' or ']'"),
    ("did not find expected '-' indicator", "did not find expected '-' indicator"),
    ("did not find expected <document start>", "did not find expected <document start>"),
];

/// Messages of this crate's parser, with those of go-yaml's scanner.
const SCANNED: [(&str, &str); 6] = [
    ("simple key expected ':'", "could not find expected ':'"),
    ("mapping values are not allowed", "mapping values are not allowed in this context"),
    ("mapping keys are not allowed", "mapping keys are not allowed in this context"),
    ("block sequence entries are not allowed", "block sequence entries are not allowed in this context"),
    ("unexpected character", "found character that cannot start any token"),
    ("found a tab", "found character that cannot start any token"),
];

fn known(message: &str, line: usize) -> (&str, Place) {
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(ours, _)| message.contains(ours)).map(|(_, theirs)| *theirs)
    };
    match (find(&PARSED), find(&SCANNED)) {
        (Some(words), _) => (words, Place::Parsed(line)),
        (None, Some(words)) => (words, Place::Scanned(line)),
        // go-yaml omits the first half of `while scanning a quoted scalar, found unknown escape character`.
        (None, None) => {
            let words = message.strip_prefix("while ").and_then(|rest| rest.split_once(", "));
            (words.map_or(message, |(_, words)| words), Place::Scanned(line))
        }
    }
}

/// Returns the message for a document that ends inside brackets.
fn unfinished(document: &str) -> &'static str {
    let text = document.trim_end();
    if text.ends_with(['[', '{', ',']) || text.ends_with(':') {
        return "did not find expected node content";
    }
    let open = text.rfind(['[', '{']).and_then(|at| text[at..].chars().next());
    if open == Some('{') { "did not find expected ',' or '}'" } else { "did not find expected ',' or ']'" }
}
