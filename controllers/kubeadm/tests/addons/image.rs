//! Images with other repositories and tags.

use kubeadm::controlplane::addons::image::Image;

#[test]
fn images_are_split_and_joined() {
    for (image, repository, tag, expected) in [
        ("registry.k8s.io/kube-proxy:v1.35.0", None, Some("v1.36.0"), "registry.k8s.io/kube-proxy:v1.36.0"),
        ("r:5000/a/kube-proxy", Some("mirror"), Some("v1"), "mirror/kube-proxy:v1"),
        ("r:5000/a/kube-proxy", None, None, "r:5000/a/kube-proxy"),
        ("kube-proxy:v1@sha256:00", Some(""), None, "kube-proxy:v1"),
    ] {
        assert_eq!(Image::parse(image).with(repository, tag), expected, "{image}");
    }
}
