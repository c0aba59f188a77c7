//! Tests of `server::image`.

use server::image::check_reference;

#[test]
fn names_of_images() {
    for (reference, expected) in [
        ("firstlight", ("firstlight", "latest")),
        ("localhost/firstlight:v0.1.0", ("localhost/firstlight", "v0.1.0")),
        ("registry.example:5000/a/b_c:1", ("registry.example:5000/a/b_c", "1")),
        ("registry.example:5000/a", ("registry.example:5000/a", "latest")),
    ] {
        assert_eq!(check_reference(reference).unwrap(), expected, "{reference}");
    }
    for reference in ["", ":v1", "Upper/case", "a b", "a:", "a//b", "a@sha256:0", "a:b/c:d e"] {
        assert!(check_reference(reference).is_err(), "{reference}");
    }
}
