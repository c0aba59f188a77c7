//! Tests of `clusterctl::configuration`.

use clusterctl::configuration::parse;
use serde_json::json;

#[test]
fn formats() {
    let yaml = "CPU: 4\nproviders:\n- name: x\n  url: file:///x\nimages:\n  all: {repository: r}\n";
    let toml = "CPU = 4\n[[providers]]\nname = 'x'\nurl = 'file:///x'\n[images.all]\nrepository = 'r'\n";
    let expected = json!({"CPU": 4, "providers": [{"name": "x", "url": "file:///x"}], "images": {"all": {"repository": "r"}}});
    assert_eq!(parse(yaml.as_bytes(), "yaml").unwrap(), expected);
    assert_eq!(parse(toml.as_bytes(), "toml").unwrap(), expected);
    let error = parse(b"CPU = ", "toml").unwrap_err().to_string();
    assert!(error.starts_with("While parsing config: "), "{error}");
    assert!(parse(b"", "hcl").unwrap_err().to_string().contains("Unsupported Config Type \"hcl\""));
}
