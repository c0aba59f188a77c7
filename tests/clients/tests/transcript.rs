//! Tests of `clients::transcript`.

use clients::transcript::{Part, Step, Transcript};

const TEXT: &str =
    "# A subject.\nserver: --controllers none\n\n$ cat <<X\n> a\n>\n> X\na\n\nb\n? 3\n\nwait:\n$ true\n\n";

#[test]
fn what_is_read_is_written_back() {
    let transcript = Transcript::parse(TEXT).unwrap();
    assert_eq!(transcript.server, Some(vec!["--controllers".to_owned(), "none".to_owned()]));
    let steps: Vec<&Step> = transcript
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Step(step) => Some(step),
            Part::Text(_) => None,
        })
        .collect();
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].command, "cat <<X\na\n\nX");
    assert_eq!((steps[0].output.as_str(), steps[0].code), ("a\n\nb", 3));
    assert!(steps[1].wait && steps[1].output.is_empty());
    assert_eq!(transcript.write(), TEXT);
}

#[test]
fn a_page_is_prose_around_commands() {
    let text = "# Title\n\n$ no command\n\n```console\n$ echo a\na\n$ true\n```\n\n```sh\n$ none\n```\n";
    let transcript = Transcript::parse_markdown(text).unwrap();
    let is_step = |part: &&Part| matches!(part, Part::Step(_));
    assert_eq!(transcript.parts.iter().filter(is_step).count(), 2);
    assert_eq!(transcript.write(), text);
}

#[test]
fn a_line_that_belongs_to_nothing_is_named() {
    let error = Transcript::parse("# x\nlost\n").unwrap_err().to_string();
    assert_eq!(error, "line 2: \"lost\" stands below no command");
    assert_eq!(Transcript::parse("server: none\n").unwrap().server, None);
}
