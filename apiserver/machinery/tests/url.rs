//! Tests of how text is encoded for the query of a URL.

use machinery::url::encode;

#[test]
fn values_of_queries() {
    assert_eq!(encode("a-1._~"), "a-1._~");
    assert_eq!(encode("app=a b/c"), "app%3Da%20b%2Fc");
}
