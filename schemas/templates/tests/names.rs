//! Templates of names.

use serde_json::json;
use templates::{Error, Template};

#[test]
fn names_have_only_the_functions_of_go() {
    let variables =
        json!({"cluster": {"name": "c1"}, "machineDeployment": {"topologyName": "md-0"}, "random": "x7k2p"});
    let render = |text: &str| Template::parse_name(text).and_then(|template| template.render(&variables));
    let text = "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}";
    assert_eq!(render(text).as_deref(), Ok("c1-md-0-x7k2p"));
    assert_eq!(render("{{ printf \"%.1s\" .cluster.name }}{{ slice .random 1 3 }}").as_deref(), Ok("c7k"));
    for refused in ["{{ .cluster.name | upper }}", "{{ trunc 3 .random }}", "{{ .cluster.name "] {
        assert!(matches!(render(refused), Err(Error::Syntax { line: 1, .. })), "{refused}");
    }
    for fails in [
        "{{ .none }}",
        "{{ .cluster.none }}",
        "{{ .cluster.name.none }}",
        "{{ index .cluster \"name\" 1 \"x\" }}",
    ] {
        assert!(matches!(render(fails), Err(Error::Rendering { line: 1, .. })), "{fails}");
    }
}

#[test]
fn files_have_no_value_for_a_key_that_does_not_exist() {
    let render = |text: &str| Template::parse_file(text).and_then(|template| template.render(&json!({})));
    assert_eq!(render("{{ if .controlPlane }}a{{ else }}b{{ end }}").as_deref(), Ok("b"));
    assert_eq!(render("{{ .controlPlane.version }}").as_deref(), Ok("<no value>"));
    assert!(matches!(render("{{ .controlPlane | upper }}"), Err(Error::Syntax { .. })));
}

#[test]
fn errors_say_where_and_why() {
    let text = |text: &str| {
        let outcome = Template::parse(text).and_then(|template| template.render(&json!({"num": 7})));
        outcome.map_err(|error| error.to_string())
    };
    let error = text("a\nb\n{{ env \"HOME\" }}").expect_err("there is no such function");
    assert_eq!(error, "the template cannot be parsed: line 3: there is no function \"env\"");
    let error = text("a\n{{ upper .num }}").expect_err("a number is no string");
    assert_eq!(
        error,
        "the template cannot be rendered: line 2: the value has type float64, but string is needed"
    );
    let error = text("{{ fail \"no replicas\" }}").expect_err("it fails");
    assert_eq!(error, "the template cannot be rendered: line 1: fail: no replicas");
    let error = text("{{ genCA \"ca\" 365 }}").expect_err("it is another one each time");
    assert!(error.contains("genCA: it would give something else each time"), "{error}");
}
