//! The parser and the renderer of templates, which are the programs of whoever writes a class.

use machinery::random::Random;
use serde_json::{Value, json};
use templates::{Error, Template, limits};

use crate::answers::like;
use crate::grammar::{below, many, nested, pick};

/// Steps of one rendering. The limit of the server takes seconds without optimization.
const STEPS: u64 = 100_000;

/// Parses a text as each kind of template, and renders it twice.
pub fn read(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let answers = [Template::parse, Template::parse_name, Template::parse_file].map(|parse| {
        let rendered = parse(&text).and_then(|template| {
            let (mut steps, mut steps_again) = (STEPS, STEPS);
            let rendered = template.render_within(&variables(), &mut steps);
            let again = template.render_within(&variables(), &mut steps_again);
            assert_eq!((&rendered, steps), (&again, steps_again), "the same variables give the same text");
            rendered
        });
        checked(&text, rendered)
    });
    answers.join(" | ")
}

/// Checks a result, and describes it.
fn checked(text: &str, rendered: Result<String, Error>) -> String {
    match rendered {
        Ok(output) => {
            assert!(output.len() <= limits::OUTPUT_BYTES_MAX, "the text is too long");
            format!("{} bytes", output.len().next_power_of_two())
        }
        Err(error) => {
            let (Error::Syntax { line, .. } | Error::Rendering { line, .. } | Error::Limit { line, .. }) =
                &error;
            assert!((1..=text.split('\n').count()).contains(line), "{error}: the text has no such line");
            like(&error.to_string())
        }
    }
}

fn variables() -> Value {
    json!({"str": "hello world", "num": 7, "float": 2.5, "flag": true, "empty": "", "ver": "v1.35.2",
        "list": ["b", "a", "c", "a"], "obj": {"a": "x", "b": {"c": 3}}})
}

/// Generates a template.
pub fn grammar(random: &Random) -> String {
    const BLOCKS: [(&str, &str); 5] = [
        ("{{ if .flag }}", "{{ end }}"),
        ("{{- range .list -}}", "{{ end }}"),
        ("{{ with .obj }}x{{ else }}", "{{ end }}"),
        ("{{ block \"b\" . }}", "{{ end }}"),
        ("{{ range until 300 }}", "{{ end }}"),
    ];
    const VALUES: [(&str, &str); 5] =
        [("(", ")"), ("(list ", ")"), ("(dict \"a\" ", ")"), ("(toJson ", ")"), ("(printf \"%v%v\" 1 ", ")")];
    match below(random, 6) {
        0 => nested(random, &BLOCKS, &statement(random, 1), limits::SYNTAX_DEPTH_MAX),
        1 => format!("{{{{ {} }}}}", nested(random, &VALUES, "1", limits::SYNTAX_DEPTH_MAX)),
        2 => format!("{{{{ {}{} }}}}", leaf(random), " | list".repeat(many(random, limits::VALUE_DEPTH_MAX))),
        3 => format!(
            "{{{{ $x := {} }}}}{{{{ range until 100 }}}}{{{{ $x = {} }}}}{{{{ end }}}}{{{{ $x }}}}",
            leaf(random),
            value(random, 2)
        ),
        _ => (0..=below(random, 6)).map(|_| statement(random, 3)).collect(),
    }
}

/// Generates a text or an action, with others inside.
pub fn statement(random: &Random, depth: usize) -> String {
    if depth == 0 {
        return pick(random, &["text", "\n", "{{/* a */}}", "{{ break }}", "{{- continue }}", "{{ . }}"])
            .to_owned();
    }
    let (value, inner) = (value(random, depth), statement(random, depth - 1));
    match below(random, 7) {
        0 => format!(
            "{{{{ if {value} }}}}{inner}{{{{ else if not .flag }}}}x{{{{ else }}}}{inner}{{{{ end }}}}"
        ),
        1 => format!("{{{{ range $i, $x := {value} }}}}{inner}{{{{ else }}}}none{{{{ end }}}}"),
        2 => format!("{{{{ with $x := {value} }}}}{inner}{{{{ end }}}}"),
        3 => format!("{{{{ define \"t\" }}}}{inner}{{{{ end }}}}{{{{ template \"t\" {value} }}}}"),
        4 => format!("{{{{ $x := {value} }}}}{inner}{{{{ $x = {value} }}}}"),
        _ => format!("{{{{- {value} -}}}}"),
    }
}

fn value(random: &Random, depth: usize) -> String {
    if depth == 0 {
        return leaf(random).to_owned();
    }
    let names: Vec<&str> = templates::function_names().collect();
    let arguments = |random: &Random| -> String {
        (0..below(random, 5)).map(|_| " ".to_owned() + &value(random, depth - 1)).collect()
    };
    match below(random, 6) {
        0 => leaf(random).to_owned(),
        1 => format!("({} | {}{})", value(random, depth - 1), pick(random, &names), arguments(random)),
        _ => format!("({}{})", pick(random, &names), arguments(random)),
    }
}

fn leaf(random: &Random) -> &'static str {
    const LEAVES: [&str; 36] = [
        ".",
        "$",
        "$x",
        ".str",
        ".num",
        ".float",
        ".flag",
        ".empty",
        ".ver",
        ".list",
        ".obj",
        ".obj.b.c",
        ".none",
        "nil",
        "true",
        "1",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "1e309",
        "0x1p-2",
        "'x'",
        "\"a\"",
        "\"\"",
        "`{{`",
        "\"\\xff\"",
        "\"%[3]*.[2]*[1]f%v%!\"",
        "\"%999999d\"",
        "\"(a+)+$\"",
        "\"2006-01-02\"",
        "\"é\\u0301\"",
        "(list 1 \"a\" nil)",
        "(dict \"a\" 1 \"b\" (list))",
        "\">= 1.2.3 <2\"",
        "\"a/../b\"",
        "\"{\\\"a\\\":[1]}\"",
    ];
    LEAVES[below(random, LEAVES.len())]
}
