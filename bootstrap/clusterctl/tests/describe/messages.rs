//! Tests of `clusterctl::describe::messages`.

use clusterctl::describe::messages::lines;

#[test]
fn lines_are_broken_between_words() {
    let word = "x".repeat(49);
    let cases = [
        ("short".to_owned(), vec!["short".to_owned()]),
        (String::new(), vec![String::new()]),
        (format!("{word} {word}"), vec![format!("{word} {word}")]),
        (format!("{word} {word}y"), vec![format!("{word} {word}y")]),
        (format!("{word} {word}yz"), vec![word.clone(), format!("{word}yz")]),
        (format!("* {word} {word}"), vec![format!("* {word}"), format!("  {word}")]),
        ("a\n  * b".to_owned(), vec!["a".to_owned(), "  * b".to_owned()]),
    ];
    for (message, expected) in cases {
        assert_eq!(lines(&message), expected, "{message}");
    }
}
