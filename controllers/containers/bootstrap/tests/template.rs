//! Templates of jinja.

use node_bootstrap::{Error, Format, Metadata, parse};

/// Renders a command of a template.
fn render(command: &str) -> Result<String, Error> {
    let metadata = Metadata::new("node-1", "i-1").with("failure-domain", "fd1");
    let text = format!("## template: jinja\n#cloud-config\nruncmd:\n- |\n  {command}\n");
    let mut bootstrap = parse(text.as_bytes(), Format::CloudConfig, &metadata)?;
    Ok(bootstrap.steps.remove(0).what)
}

#[test]
fn variables_are_replaced() {
    let cases = [
        ("{{ ds.meta_data.local_hostname }}", "node-1"),
        ("{{ds.meta_data.hostname}}", "node-1"),
        ("{{ ds.meta_data.name }}", "node-1"),
        ("{{ ds.meta_data['local-hostname'] }}", "node-1"),
        ("{{ ds[\"meta_data\"]['local_hostname'] }}", "node-1"),
        ("{{ v1.local_hostname }}", "node-1"),
        ("{{ local_hostname }}", "node-1"),
        ("x {{- v1.instance_id -}} y", "xi-1y"),
        ("{{ ds.meta_data.instance_id }}", "i-1"),
        ("{{ ds.meta_data.failure_domain }}", "fd1"),
        ("a {{ v1.local_hostname }} b {{ v1.instance_id }} c", "a node-1 b i-1 c"),
        ("a {# {{ nothing }} #}b", "a b"),
        ("{% raw %}{{ .PodCIDR }}{% endraw %} {{ local_hostname }}", "{{ .PodCIDR }} node-1"),
        ("{% raw %}{% if %}{%endraw%}", "{% if %}"),
        ("} } {a} ${HOME} $(x) { { y", "} } {a} ${HOME} $(x) { { y"),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn other_braces_are_errors_with_their_line() {
    let unknown = |inside: &str| {
        format!(
            "line 5 of the bootstrap data: {{{{{inside}}}}} is not known in a node: use {{{{ ds.meta_data.local_hostname \
             }}}}, or write {{% raw %}} and {{% endraw %}} around braces that are meant as text"
        )
    };
    let line = |why: &str| format!("line 5 of the bootstrap data: {why}");
    let cases = [
        ("{{ ds.meta_data.other }}", unknown(" ds.meta_data.other ")),
        ("{{ v1.hostname }}", unknown(" v1.hostname ")),
        ("{{ local_hostname | upper }}", unknown(" local_hostname | upper ")),
        ("{{ range .Items }}", unknown(" range .Items ")),
        ("{{}}", unknown("")),
        ("{{ a..b }}", unknown(" a..b ")),
        ("{{ ds['x }}", unknown(" ds['x ")),
        ("{{ local_hostname", line("a variable of jinja has no }}")),
        ("${#array[@]}", line("a comment of jinja has no #}")),
        ("{% if x %}a{% endif %}", line("{% if x %} cannot be rendered in a node")),
        ("{% raw %} x", line("{% raw %} has no {% endraw %}")),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn only_the_first_line_makes_a_template() {
    let read = |text: &str| {
        let metadata = Metadata::new("node-1", "i-1");
        let bootstrap = parse(text.as_bytes(), Format::CloudConfig, &metadata);
        bootstrap.map(|bootstrap| bootstrap.steps[0].what.clone()).map_err(|error| error.to_string())
    };
    let body = "#cloud-config\nruncmd: ['{{ local_hostname }}']\n";
    let plain = Ok("{{ local_hostname }}".to_owned());
    let cases = [
        (format!("## template: jinja\n{body}"), Ok("node-1".to_owned())),
        (format!("##TEMPLATE:Jinja\r\n{body}"), Ok("node-1".to_owned())),
        (body.to_owned(), plain.clone()),
        (format!("#cloud-config\n## template: jinja\n{body}"), plain.clone()),
        (format!("## template: basic\n{body}"), plain),
        (
            format!("## template: mako\n{body}"),
            Err("line 1 of the bootstrap data: the template \"mako\" is not known: use jinja".to_owned()),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read(&text), expected, "{text}");
    }
    // A line of the document is a line of the template.
    let error =
        read("## template: jinja\n#cloud-config\n# {{ local_hostname }}\nruncmd: {a: b}\n").unwrap_err();
    assert!(error.starts_with("line 4 "), "{error}");
}

/// The results are those of cloud-init 26.2 for the same texts.
#[test]
fn white_space_is_jinjas() {
    let cases = [
        ("{% raw %}\nx\n{% endraw %}\ny\n", "\nx\ny\n"),
        ("a\n{{- local_hostname -}}\nb", "anode-1b"),
        ("a\n{# x #}\nb", "a\nb"),
        ("a\n{#- x -#}\nb", "ab"),
        ("  {%- raw %} x {% endraw -%}  y", " x y"),
        ("  {%- raw -%} x {%- endraw -%}  y", "xy"),
        ("{% raw -%}\n\n x{% endraw %}", "x"),
        ("{{ local_hostname }}\nb\n\n", "node-1\nb\n\n"),
    ];
    for (text, expected) in cases {
        let data = format!("## template: jinja\nruncmd: [\"@{text}@\"]\n");
        let read = |data: &str| {
            let bootstrap =
                parse(data.as_bytes(), Format::CloudConfig, &Metadata::new("node-1", "i-1")).unwrap();
            bootstrap.steps[0].action.clone()
        };
        let plain = format!("runcmd: [\"@{expected}@\"]\n");
        assert_eq!(read(&data), read(&plain), "{text:?}");
    }
}
