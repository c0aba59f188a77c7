//! Tests of `kubelet::plan::command`.

use std::collections::BTreeMap;

use container_images::Config;
use k8s_openapi::api::core::v1::Container;
use kubelet::plan::command;

#[test]
fn pods_override_images() {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let image =
        Config { entrypoint: texts(&["/manager"]), command: texts(&["--default"]), ..Config::default() };
    let variables = BTreeMap::from([("LEVEL".to_owned(), "5".to_owned())]);
    for (own, arguments, expected) in [
        (&[][..], &[][..], &["/manager", "--default"][..]),
        (&[], &["--v=$(LEVEL)"], &["/manager", "--v=5"]),
        (&["/other"], &[], &["/other"]),
        (&["/other"], &["$(NONE)"], &["/other", "$(NONE)"]),
    ] {
        let container =
            Container { command: Some(texts(own)), args: Some(texts(arguments)), ..Container::default() };
        assert_eq!(command(&container, &image, &variables).unwrap(), texts(expected));
    }
    assert!(command(&Container::default(), &Config::default(), &variables).is_err());
}
