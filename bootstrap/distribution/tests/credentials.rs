//! Tests of `distribution::credentials`.

use distribution::Credentials;

#[test]
fn the_longest_path_counts() {
    let config = r#"{"auths": {
        "https://index.docker.io/v1/": {"auth": "aHViOnBhc3N3b3Jk"},
        "registry.example": {"username": "all", "password": "x"},
        "registry.example/team": {"username": "team", "password": "x"},
        "*.cloud.example": {"username": "cloud", "password": "x"},
        "http://localhost:5000": {"auth": "bG9jYWw6YTpi"},
        "broken.example": {"auth": "?"}
    }}"#;
    let credentials = Credentials::of_docker_config(config.as_bytes()).unwrap();
    for (repository, expected) in [
        ("docker.io/library/nginx", Some("hub")),
        ("registry.example/other", Some("all")),
        ("registry.example/team/image", Some("team")),
        ("registry.example/teamwork", Some("all")),
        ("eu.cloud.example/a", Some("cloud")),
        ("cloud.example/a", None),
        ("localhost:5000/a", Some("local")),
        ("localhost:5001/a", None),
        ("broken.example/a", None),
    ] {
        let found = credentials.find(repository).map(|login| login.user.as_str());
        assert_eq!(found, expected, "{repository}");
    }
    assert_eq!(credentials.find("localhost:5000/a").unwrap().password, "a:b");
    let old = Credentials::of_dockercfg(br#"{"registry.example": {"username": "old", "password": "x"}}"#);
    let both = old.unwrap().and(credentials);
    assert_eq!(both.find("registry.example/a").unwrap().user, "old", "those that were there first");
    assert!(Credentials::of_docker_config(b"[]").is_err());
}
