//! Tests of `bootstrap::vendor_data`.

use metal_provisioning::bootstrap::vendor_data::{URL_KEY, add_url, url, vendor_data};
use serde_json::{Map, Value};

#[test]
fn the_program_has_the_url_of_the_metadata() {
    let own = url("http://10.0.0.1:8080", "0123");
    let files = Map::from_iter([("/etc/a".to_owned(), Value::from("one\n\"two\""))]);
    for (given, expected) in [(None, own.as_str()), (Some("http://elsewhere/\"\n"), "http://elsewhere/\"\n")]
    {
        let mut meta_data: Map<String, Value> =
            given.map(|url| (URL_KEY.to_owned(), url.into())).into_iter().collect();
        add_url(&mut meta_data, &own);
        assert_eq!(meta_data[URL_KEY], expected);
        let document: Value = serde_json::from_str(&vendor_data(&meta_data, files.clone())).unwrap();
        let program = document["cloud-init"].as_str().unwrap();
        assert!(program.starts_with("#!/usr/bin/env python3\n"), "{program}");
        let line = program.lines().find(|line| line.starts_with("URL = ")).unwrap();
        assert_eq!(line, format!("URL = {}", Value::from(expected)));
        assert!(program.contains("\nFILES = {\"/etc/a\":\"one\\n\\\"two\\\"\"}"), "{program}");
        assert!(!program.contains('@'), "{program}");
    }
}
