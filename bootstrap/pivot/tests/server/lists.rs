//! Tests of `pivot::server::lists`.

use pivot::server::Page;

#[test]
fn a_list_without_objects_may_be_null() {
    for (text, expected) in [(r#"{"items":null}"#, 0), (r#"{"items":[]}"#, 0), (r#"{"items":[{}]}"#, 1)] {
        let page: Page = serde_json::from_str(text).unwrap();
        assert_eq!(page.items.len(), expected, "{text}");
    }
}
