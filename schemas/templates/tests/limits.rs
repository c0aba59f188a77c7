//! Templates that make too much work, and those that make just not too much.

use serde_json::{Value, json};
use templates::{Error, Template, limits};

fn render(text: &str) -> Result<String, Error> {
    Template::parse(text)?.render(&json!({"list": ["a", "b"]}))
}

/// What there is too much of, or the text.
fn limit(text: &str) -> Result<String, &'static str> {
    match render(text) {
        Ok(text) => Ok(text),
        Err(Error::Limit { what, .. }) => Err(what),
        Err(other) => panic!("{text}: {other}"),
    }
}

#[test]
fn a_text_has_a_size() {
    assert!(Template::parse(&"x".repeat(limits::TEMPLATE_BYTES_MAX)).is_ok());
    let error = Template::parse(&"x".repeat(limits::TEMPLATE_BYTES_MAX + 1));
    assert!(matches!(error, Err(Error::Syntax { .. })), "{error:?}");
}

#[test]
fn blocks_are_nested_to_a_depth() {
    let blocks = |depth: usize| format!("{}x{}", "{{ if true }}".repeat(depth), "{{ end }}".repeat(depth));
    let calls = |depth: usize| format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth));
    for nested in [blocks, calls] {
        assert!(render(&nested(limits::SYNTAX_DEPTH_MAX)).is_ok());
        let error = render(&nested(limits::SYNTAX_DEPTH_MAX + 1));
        assert!(matches!(error, Err(Error::Syntax { .. })), "{error:?}");
        assert!(matches!(render(&nested(100_000)), Err(Error::Syntax { .. })));
    }
}

/// A template that calls itself so often. Each call is in an `if`, so it takes two levels, and the evaluation of its argument three more.
fn recursion(calls: usize) -> String {
    format!(
        "{{{{ define \"r\" }}}}{{{{ if gt . 1 }}}}{{{{ template \"r\" (int (sub . 1)) }}}}{{{{ end }}}}{{{{ end }}}}{{{{ template \"r\" {calls} }}}}x"
    )
}

#[test]
fn calls_are_nested_to_a_depth() {
    let deepest =
        (1..limits::EXECUTION_DEPTH_MAX).take_while(|calls| limit(&recursion(*calls)).is_ok()).count();
    assert!(
        (limits::EXECUTION_DEPTH_MAX / 2 - 5..=limits::EXECUTION_DEPTH_MAX / 2).contains(&deepest),
        "{deepest}"
    );
    assert_eq!(limit(&recursion(1_000_000)), Err("nested blocks and calls"));
    assert_eq!(limit("{{ template \"tpl\" . }}"), Err("nested blocks and calls"));
}

#[test]
fn values_are_nested_to_a_depth() {
    let lists = |depth: usize| {
        format!(
            "{{{{ $x := list }}}}{{{{ range until {} }}}}{{{{ $x = list $x }}}}{{{{ end }}}}{{{{ len $x }}}}",
            depth - 1
        )
    };
    assert_eq!(limit(&lists(limits::VALUE_DEPTH_MAX)), Ok("1".to_owned()));
    assert_eq!(limit(&lists(limits::VALUE_DEPTH_MAX + 1)), Err("nested lists"));
    let maps = |end: &str| {
        format!(
            "{{{{ $x := dict }}}}{{{{ range until 20000 }}}}{{{{ $x = dict \"a\" $x }}}}{{{{ end }}}}{{{{ {end} }}}}"
        )
    };
    assert_eq!(limit(&maps("len $x")), Ok("1".to_owned()));
    for end in ["$x", "toJson $x", "deepCopy $x | len", "deepEqual $x (deepCopy $x.a)", "quote $x"] {
        assert_eq!(limit(&maps(end)), Err("nested values"), "{end}");
    }
    let mut deep = json!("x");
    for _ in 0..=limits::VALUE_DEPTH_MAX {
        deep = json!({ "a": deep });
    }
    let error = Template::parse("x").expect("a template").render(&deep);
    assert!(matches!(error, Err(Error::Limit { .. })), "{error:?}");
}

/// A map that contains itself. Go's program ends when it prints one.
#[test]
fn a_map_in_itself_is_an_error() {
    let circle = "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}";
    assert_eq!(limit(&format!("{circle}{{{{ len $d.d.d }}}}")), Ok("1".to_owned()));
    for end in
        ["$d", "toJson $d", "toPrettyJson $d", "deepCopy $d", "printf \"%v\" $d", "merge $d (deepCopy $d)"]
    {
        assert_eq!(limit(&format!("{circle}{{{{ {end} }}}}")), Err("nested values"), "{end}");
    }
    assert!(
        limit(&format!("{circle}{{{{ $_ := merge $d $d }}}}{{{{ $_ := unset $d \"d\" }}}}{{{{ $d }}}}"))
            .is_err()
    );
}

#[test]
fn a_rendering_has_a_number_of_steps() {
    for text in [
        "{{ range 1000000000 }}{{ end }}",
        "{{ range until 999 }}{{ range until 999 }}{{ end }}{{ end }}",
        "{{ until 1000000 }}",
        "{{ untilStep 0 9223372036854775807 1 }}",
        "{{ seq 1 1000000000 }}",
        "{{ $l := until 5000 }}{{ uniq $l | len }}",
        "{{ $l := list }}{{ range until 10000 }}{{ $l = append $l 1 }}{{ end }}",
        "{{ range until 200000 }}{{ end }}{{ derivePassword 1 \"pin\" \"p\" \"u\" \"s\" }}",
        "{{ range $i, $e := until 1000 }}{{ $_ := regexMatch (print \"a\" $i) \"a\" }}{{ end }}",
    ] {
        assert_eq!(limit(text), Err("steps"), "{text}");
    }
    assert_eq!(limit("{{ range until 100000 }}{{ end }}x"), Ok("x".to_owned()));
    // A pattern is compiled once.
    assert_eq!(
        limit("{{ range until 1000 }}{{ $_ := regexMatch \"a\" \"a\" }}{{ end }}x"),
        Ok("x".to_owned())
    );
}

#[test]
fn values_have_a_number_of_bytes() {
    for text in [
        "{{ repeat 1000000000 \"a\" }}",
        "{{ repeat 9223372036854775807 \"ab\" }}",
        "{{ indent 1000000000 \"a\" }}",
        "{{ $s := \"a\" }}{{ range until 100 }}{{ $s = print $s $s }}{{ end }}",
        "{{ $s := repeat 100000 \"a\" }}{{ $l := list }}{{ range until 1000 }}{{ $l = append $l $s }}{{ end }}{{ $l | toJson | len }}",
        "{{ $s := repeat 1000000 \"a\" }}{{ replace \"a\" $s $s | len }}",
        "{{ $s := repeat 20000 \"a\" }}{{ regexReplaceAll \"a\" $s $s | len }}",
        "{{ range until 100 }}{{ $_ := printf \"%1000000d\" 1 }}{{ end }}",
    ] {
        assert_eq!(limit(text), Err("bytes of memory"), "{text}");
    }
    let most = limits::MEMORY_BYTES_MAX / 2 - 1000;
    assert_eq!(limit(&format!("{{{{ repeat {most} \"a\" | len }}}}")), Ok(most.to_string()));
}

#[test]
fn the_text_has_a_number_of_bytes() {
    let text = |count: usize| format!("{{{{ repeat {count} \"a\" }}}}");
    assert_eq!(limit(&text(limits::OUTPUT_BYTES_MAX)).map(|text| text.len()), Ok(limits::OUTPUT_BYTES_MAX));
    assert_eq!(limit(&text(limits::OUTPUT_BYTES_MAX + 1)), Err("bytes of text"));
    assert_eq!(
        limit("{{ $s := repeat 10000 \"a\" }}{{ range until 10000 }}{{ $s }}{{ end }}"),
        Err("bytes of text")
    );
}

#[test]
fn patterns_have_a_size() {
    assert_eq!(limit("{{ regexMatch \"a{1000}\" \"a\" }}"), Ok("false".to_owned()));
    let large = |times: usize| limit(&format!("{{{{ regexMatch \"{}\" \"a\" }}}}", "a{1000}".repeat(times)));
    assert_eq!(large(19), Ok("false".to_owned()));
    assert_eq!(large(21), Err("parts of a pattern"));
    assert_eq!(limit("{{ regexFind \"(a{100}){10}\" \"a\" }}"), Ok(String::new()));
}

/// Whatever a stranger writes, there is an answer.
#[test]
fn every_part_of_a_template_has_an_answer() {
    let recorded: Value = serde_json::from_str(include_str!("go.json")).expect("the recordings are JSON");
    let variables = &recorded["variables"];
    for text in recorded["values"].as_object().expect("an object").keys().step_by(30) {
        for (end, _) in text.char_indices() {
            for part in [&text[..end], &text[end..]] {
                if let Ok(template) = Template::parse(part) {
                    let _ = template.render(variables);
                }
            }
        }
    }
}

#[test]
fn renderings_share_a_bound() {
    let template = Template::parse("{{ range until 1000 }}x{{ end }}").expect("a template");
    let (variables, mut steps) = (json!({}), limits::STEPS_MAX);
    assert!(template.render_within(&variables, &mut steps).is_ok());
    let cost = limits::STEPS_MAX - steps;
    assert!(cost > 1000);
    let mut steps = 2 * cost + 10;
    for rest in [cost + 10, 10] {
        assert!(template.render_within(&variables, &mut steps).is_ok());
        assert_eq!(steps, rest);
    }
    let error = template.render_within(&variables, &mut steps).expect_err("there is not enough left");
    assert!(matches!(error, Error::Limit { limit: 10, .. }), "{error}");
    assert_eq!(steps, 0);
    let mut many = u64::MAX;
    let endless = Template::parse("{{ range until 1000000 }}{{ end }}").expect("a template");
    assert!(endless.render_within(&variables, &mut many).is_err(), "each rendering has its own bound, too");
}

#[test]
fn bytes_are_steps() {
    let template = Template::parse("{{ repeat 10000000 \"x\" | len }}").expect("a template");
    let mut steps = limits::STEPS_MAX;
    assert_eq!(template.render_within(&json!({}), &mut steps).as_deref(), Ok("10000000"));
    let counted = limits::STEPS_MAX - steps;
    assert!(counted >= 10_000_000 / limits::STEP_BYTES, "{counted}");
    let error = template.render_within(&json!({}), &mut { 5_000 }).expect_err("so many bytes are more steps");
    assert!(matches!(error, Error::Limit { what: "steps", .. }), "{error}");
}
