//! Tests of `engine::object`.

use engine::NamespacedName;

#[test]
fn a_name_with_a_namespace_is_parsed_as_it_is_written() {
    let name = NamespacedName::new("metal", "rack1");
    assert_eq!(NamespacedName::parse(&name.to_string()), Some(name));
    for text in ["", "rack1", "/rack1", "metal/", "metal/rack1/x"] {
        assert_eq!(NamespacedName::parse(text), None, "{text}");
    }
}
