//! Paths with slashes. Those of the operating system, which is Linux, are the same.

use super::{Function, Parameter, function};
use crate::values::Value;
use Parameter::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    function("base", &[Text], |work, a| work.text(base(a.text(0)))),
    function("osBase", &[Text], |work, a| work.text(base(a.text(0)))),
    function("dir", &[Text], |work, a| work.text(dir(a.text(0)))),
    function("osDir", &[Text], |work, a| work.text(dir(a.text(0)))),
    function("clean", &[Text], |work, a| work.text(clean(a.text(0)))),
    function("osClean", &[Text], |work, a| work.text(clean(a.text(0)))),
    function("ext", &[Text], |work, a| work.text(extension(a.text(0)))),
    function("osExt", &[Text], |work, a| work.text(extension(a.text(0)))),
    function("isAbs", &[Text], |_, a| Ok(Value::Bool(a.text(0).starts_with(b"/")))),
    function("osIsAbs", &[Text], |_, a| Ok(Value::Bool(a.text(0).starts_with(b"/")))),
];

/// The last element. That of an empty path is a point, and that of slashes a slash.
fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |position| position + 1);
    if end == 0 {
        return b"/";
    }
    path[..end].rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// All but the last element.
fn dir(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |position| position + 1);
    clean(&path[..end])
}

fn extension(path: &[u8]) -> &[u8] {
    let start = path.iter().rposition(|byte| matches!(byte, b'.' | b'/'));
    start.filter(|start| path[*start] == b'.').map_or(b"", |start| &path[start..])
}

/// The shortest path that is the same.
fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut elements: Vec<&[u8]> = Vec::new();
    for element in path.split(|byte| *byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." if elements.last().is_some_and(|last| *last != b"..") => {
                elements.pop();
            }
            b".." if rooted => {}
            element => elements.push(element),
        }
    }
    let joined = elements.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", joined.as_slice()].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}
