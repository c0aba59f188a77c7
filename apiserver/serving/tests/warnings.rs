//! How many warnings are sent.

use http::header::WARNING;
use http::{HeaderMap, HeaderValue};
use serving::testing::add_warnings;
use serving::testing::limits;

fn sizes(warnings: &[String]) -> Vec<usize> {
    let mut headers = HeaderMap::new();
    add_warnings(&mut headers, warnings);
    let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
    let framed =
        |value| text(value).strip_prefix("299 - \"").unwrap().strip_suffix('"').unwrap().chars().count();
    headers.get_all(WARNING).iter().map(framed).collect()
}

#[test]
fn warnings_below_at_and_above_the_limit() {
    let half = limits::WARNING_CHARACTERS / 2;
    let two = |more: usize| vec!["ä".repeat(half), "b".repeat(half + more)];
    assert_eq!(sizes(&two(0)), [half, half]);
    let cut = limits::CUT_WARNING_CHARACTERS;
    assert_eq!(sizes(&two(1)), [cut, cut]);
    // Duplicates do not count.
    assert_eq!(sizes(&[two(0), two(0), vec![String::new()]].concat()), [half, half]);
    let many: Vec<String> = (0..100).map(|at| format!("{at:03}{}", "x".repeat(cut))).collect();
    assert_eq!(sizes(&many), vec![cut; limits::WARNING_CHARACTERS / cut]);
    let short: Vec<String> = (0..60_000).map(|at| format!("unknown field \"f{at:05}\"")).collect();
    let sent = sizes(&short);
    assert_eq!(sent.len(), limits::WARNING_CHARACTERS.div_ceil("unknown field \"f00000\"".len()));
}
