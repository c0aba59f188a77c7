//! Names of images.

use bundle::{Digest, Reference};

#[test]
fn names_as_users_write_them() {
    let digest = Digest::of(b"").to_string();
    for (text, expected) in [
        ("nginx", "docker.io/library/nginx"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("index.docker.io/a/b:c", "docker.io/a/b:c"),
        ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
        ("localhost/firstlight:v0.1.0", "localhost/firstlight:v0.1.0"),
        ("host:5000/a/b_c", "host:5000/a/b_c"),
        (&format!("registry.k8s.io/pause:3.10@{digest}"), "registry.k8s.io/pause:3.10"),
        (&format!("registry.k8s.io/pause@{digest}"), "registry.k8s.io/pause"),
    ] {
        assert_eq!(text.parse::<Reference>().unwrap().to_string(), expected);
    }
    // The distribution specification limits tags to 128 characters, and repositories to 255.
    let long = format!("a/b:{}", "t".repeat(128 + 1));
    let wide = format!("a/{}:t", "b".repeat(255));
    for wrong in ["", ":v1", "Upper/case", "a b", "a:", "a//b", "a@sha256:0", "a/../b", "a:.b", &long, &wide]
    {
        assert!(wrong.parse::<Reference>().is_err(), "{wrong}");
    }
}
