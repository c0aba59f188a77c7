//! Tests repositories of providers: simulated GitHub and GitLab, a web server, a registry, a folder, and overrides.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use clusterctl::configuration::{Configuration, Environment, Provider, ProviderType};
use clusterctl::network::{Answer, Network, Request};
use clusterctl::repository::{Fetcher, Repository};
use futures::future::BoxFuture;
use machinery::clock::Clock;
use test_registry::Registry;

/// Answers by address; other addresses answer 404.
#[derive(Default)]
struct Web {
    answers: BTreeMap<String, (u16, String)>,
    exhausted: bool,
    asked: Mutex<Vec<Request>>,
}

impl Web {
    fn with(mut self, url: &str, body: &str) -> Self {
        self.answers.insert(url.to_owned(), (200, body.to_owned()));
        self
    }

    fn failing(mut self, url: &str, status: u16) -> Self {
        self.answers.insert(url.to_owned(), (status, String::new()));
        self
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.url.clone()).collect()
    }
}

impl Network for Web {
    fn get(&self, request: Request) -> BoxFuture<'_, clusterctl::Result<Answer>> {
        let (status, body) = self.answers.get(&request.url).cloned().unwrap_or((404, String::new()));
        self.asked.lock().unwrap().push(request);
        Box::pin(async move { Ok(Answer { status, exhausted: self.exhausted, body: body.into() }) })
    }
}

const METADATA: &str = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 2, contract: v1beta1}\n- {major: 1, minor: 3, contract: v1beta2}\n- {major: 2, minor: 0, contract: v1beta3}\n";
const LIST: &str = "https://proxy.golang.org/github.com/acme/cloud/@v/list";
const DOWNLOAD: &str = "https://github.com/acme/cloud/releases/download";
const API: &str = "https://api.github.com/repos/acme/cloud";

fn provider(url: &str) -> Provider {
    Provider { name: "acme".into(), provider_type: Some(ProviderType::Infrastructure), url: url.into() }
}

async fn configuration(variables: &[(&str, &str)]) -> Configuration {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Configuration::load(None, Environment::fixed(variables), &Web::default()).await.unwrap()
}

async fn open(web: &Arc<Web>, url: &str, variables: &[(&str, &str)]) -> clusterctl::Result<Repository> {
    let fetcher = Fetcher::new(web.clone(), Clock::system());
    Repository::open(&provider(url), &configuration(variables).await, &fetcher).await
}

const LATEST: &str = "https://github.com/acme/cloud/releases/latest/infrastructure-components.yaml";

#[tokio::test(start_paused = true)]
async fn latest_is_the_newest_release_of_the_contract() {
    let web = Web::default()
        .with(LIST, "v1.2.0\nv1.3.1\nv1.3.0\nv2.0.0\nv2.1.0-beta.1\nnonsense\n")
        .with(&format!("{DOWNLOAD}/v2.0.0/metadata.yaml"), METADATA)
        .with(&format!("{DOWNLOAD}/v1.3.1/metadata.yaml"), METADATA)
        .with(&format!("{DOWNLOAD}/v1.3.1/infrastructure-components.yaml"), "kind: A\n");
    let web = Arc::new(web);
    let repository = open(&web, LATEST, &[]).await.unwrap();
    assert_eq!(repository.version, "v1.3.1");
    assert_eq!(repository.components("v1.3.1").await.unwrap(), "kind: A\n");
    let series = repository.metadata("v1.3.1").await.unwrap();
    assert_eq!(series.release_series.len(), 3);
    let metadata: Vec<String> =
        web.asked().into_iter().filter(|url| url.contains("v2.0.0/metadata")).collect();
    assert_eq!(metadata.len(), 1, "each file is fetched once");
}

#[tokio::test(start_paused = true)]
async fn a_release_without_files_is_passed_over() {
    let web = Web::default()
        .with(LIST, "v1.3.0\nv1.3.1\n")
        .with(&format!("{DOWNLOAD}/v1.3.0/metadata.yaml"), METADATA);
    assert_eq!(open(&Arc::new(web), LATEST, &[]).await.unwrap().version, "v1.3.0");
}

#[tokio::test(start_paused = true)]
async fn without_a_proxy_the_api_is_asked() {
    let releases = r#"[{"tag_name": "v1.3.0"}, {"tag_name": "nightly"}]"#;
    let release = r#"{"assets": [{"id": 1, "name": "other"}, {"id": 7, "name": "metadata.yaml"}]}"#;
    let web = Web::default()
        .with(&format!("{API}/releases?page=1&per_page=100"), releases)
        .with(&format!("{API}/releases/tags/v1.3.0"), release)
        .with(&format!("{API}/releases/assets/7"), METADATA);
    let web = Arc::new(web);
    let variables = [("GOPROXY", "off"), ("GITHUB_TOKEN", "secret")];
    let repository = open(&web, LATEST, &variables).await.unwrap();
    assert_eq!(repository.version, "v1.3.0");
    assert!(web.asked.lock().unwrap().iter().all(|request| request.token.as_deref() == Some("secret")));
    let missing = repository.file("v1.3.0", "nothing.yaml").await.unwrap_err().to_string();
    assert!(missing.contains("failed to get file \"nothing.yaml\" from \"v1.3.0\" release"), "{missing}");
}

#[tokio::test(start_paused = true)]
async fn errors_say_what_to_do() {
    let limited = Web { exhausted: true, ..Web::default() }
        .failing(&format!("{API}/releases?page=1&per_page=100"), 403);
    let error = open(&Arc::new(limited), LATEST, &[("GOPROXY", "off")]).await.err().unwrap().to_string();
    assert!(error.contains("rate limit for github api has been reached"), "{error}");

    let broken = Arc::new(
        Web::default().failing(LIST, 500).failing(&format!("{API}/releases?page=1&per_page=100"), 500),
    );
    let error = open(&broken, LATEST, &[]).await.err().unwrap().to_string();
    assert!(error.contains("status code: 500"), "{error}");
    assert!(broken.asked().len() > 2, "a failure is tried again");

    let cases = [
        ("https://github.com/acme", "a GitHub repository url should be in the form"),
        ("https://example.com/a/b", "Only GitHub and GitLab are supported"),
        ("ftp://example.com/a", "there are no provider implementation for \"ftp\" schema"),
        ("https://gitlab.example.com/api/v4/projects/1/x", "a GitLab repository url should be in the form"),
        ("relative/infrastructure-acme/v1.0.0/a.yaml", "must be an absolute path"),
        ("/base/other/v1.0.0/a.yaml", "must contain provider \"infrastructure-acme\""),
        ("/base/infrastructure-acme/one/a.yaml", "invalid version: \"one\""),
    ];
    for (url, expected) in cases {
        let error = open(&Arc::new(Web::default()), url, &[]).await.err().unwrap().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    }
}

#[tokio::test]
async fn gitlab_has_the_version_of_its_address() {
    let base = "https://gitlab.example.com/api/v4/projects/a%2Fb/packages/generic/acme";
    let web = Arc::new(Web::default().with(&format!("{base}/v1.3.0/components.yaml"), "kind: A\n"));
    let url = format!("{base}/v1.3.0/components.yaml");
    let repository = open(&web, &url, &[("GITLAB_ACCESS_TOKEN", "secret")]).await.unwrap();
    assert_eq!(repository.version, "v1.3.0");
    assert_eq!(repository.components("v1.3.0").await.unwrap(), "kind: A\n");
    assert_eq!(web.asked.lock().unwrap()[0].token.as_deref(), Some("secret"));
    let error = repository.components("v9.0.0").await.unwrap_err().to_string();
    assert!(error.ends_with("got 404"), "{error}");
}

#[tokio::test]
async fn folders_and_overrides() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for version in ["v1.2.0", "v1.3.0", "v1.10.0"] {
        write(&format!("base/infrastructure-acme/{version}/metadata.yaml"), METADATA);
        write(&format!("base/infrastructure-acme/{version}/a.yaml"), version);
    }
    write("over/infrastructure-acme/v1.3.0/a.yaml", "override");
    let url = format!("{}/base/infrastructure-acme/latest/a.yaml", folder.path().display());
    let overrides = folder.path().join("over").display().to_string();
    let web = Arc::new(Web::default());
    let repository = open(&web, &url, &[("OVERRIDESFOLDER", &overrides)]).await.unwrap();
    assert_eq!(repository.version, "v1.3.0", "the newest of the series of the contract");
    assert_eq!(repository.components("v1.3.0").await.unwrap(), "override");
    assert_eq!(repository.components("v1.2.0").await.unwrap(), "v1.2.0");
    let error = repository.components("v7.0.0").await.unwrap_err().to_string();
    assert!(error.contains("no such file or directory"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn any_web_server_has_the_version_of_its_address() {
    let base = "https://files.example/providers/acme";
    let web = Arc::new(Web::default().with(&format!("{base}/v1.3.0/a.yaml"), "kind: A\n"));
    let repository = open(&web, &format!("{base}/v1.3.0/a.yaml"), &[]).await.unwrap();
    assert_eq!(repository.version, "v1.3.0");
    assert_eq!(repository.components("v1.3.0").await.unwrap(), "kind: A\n");
    let error = repository.metadata("v1.3.0").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

#[tokio::test]
async fn artifacts_have_files_by_version() {
    let registry = Registry::start().await.unwrap();
    registry.with(|state| {
        for version in ["v1.3.0", "v1.3.1", "v1.2.0"] {
            let files = [("metadata.yaml", METADATA), ("infrastructure-components.yaml", version)];
            test_registry::files(state, &format!("providers/acme:{version}"), files);
        }
    });
    let web = Arc::new(Web::default());
    let url = format!("oci://{}/providers/acme", registry.name());
    for (url, version) in
        [(url.clone(), "v1.3.1"), (format!("{url}:v1.2.0"), "v1.2.0"), (format!("{url}:latest"), "v1.3.1")]
    {
        let repository = open(&web, &url, &[]).await.unwrap();
        assert_eq!(repository.version, version, "{url}");
        assert_eq!(repository.components(version).await.unwrap(), version);
    }
    // One artifact may have the files of several versions, and be for some users only.
    registry.with(|state| {
        state.password = Some("sesame".to_owned());
        let titles = ["infrastructure-acme-v1.4.0-metadata.yaml", "components.yaml"];
        test_registry::files(state, "providers/acme:v1.4.0", titles.map(|title| (title, METADATA)));
    });
    let login = [("OCI_USERNAME", "user"), ("OCI_PASSWORD", "sesame")];
    let repository = open(&web, &format!("{url}:v1.4.0"), &login).await.unwrap();
    assert_eq!(repository.components("v1.4.0").await.unwrap(), METADATA);
    assert!(repository.metadata("v1.4.0").await.is_ok());
    assert!(open(&web, &format!("{url}:v1.4.0"), &[]).await.unwrap().components("v1.4.0").await.is_err());
    registry.with(|state| state.password = None);

    let repository = open(&web, &format!("{url}:v1.3.0/other.yaml"), &[]).await.unwrap();
    let missing = repository.components("v1.3.0").await.unwrap_err();
    assert!(missing.is_not_found() && missing.to_string().contains("other.yaml"), "{missing}");
    let absent = repository.components("v9.0.0").await.unwrap_err().to_string();
    assert!(absent.contains("404 Not Found: manifest unknown"), "{absent}");
    for wrong in ["oci://registry.example", "oci://registry.example/a:one"] {
        let error = open(&web, wrong, &[]).await.err().unwrap().to_string();
        assert!(error.contains("an OCI repository url should be in the form"), "{error}");
    }
}

/// A network whose requests fail.
struct Failing(fn() -> clusterctl::Error);

impl Network for Failing {
    fn get(&self, _: Request) -> BoxFuture<'_, clusterctl::Result<Answer>> {
        Box::pin(async { Err((self.0)()) })
    }
}

/// Opens a repository over a failing network; returns the error, and what was told before.
async fn told(error: fn() -> clusterctl::Error) -> (String, Vec<String>) {
    told_by(Arc::new(Failing(error))).await
}

async fn told_by(network: Arc<dyn Network>) -> (String, Vec<String>) {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = lines.clone();
    let report = Arc::new(move |line: &str| written.lock().unwrap().push(line.to_owned()));
    let fetcher = Fetcher::new(network, Clock::system()).with_report(report);
    let opened =
        Repository::open(&provider(LATEST), &configuration(&[("GOPROXY", "off")]).await, &fetcher).await;
    let lines = lines.lock().unwrap().clone();
    (opened.err().unwrap().to_string(), lines)
}

#[tokio::test(start_paused = true)]
async fn each_repeated_request_is_told_and_what_cannot_pass_is_not_repeated() {
    let (error, lines) = told(|| clusterctl::Error::Network("Get \"u\": refused".to_owned())).await;
    assert!(error.ends_with("Get \"u\": refused"), "{error}");
    let expected: Vec<String> =
        (2..=6).map(|next| format!("Get \"u\": refused; attempt {next} of 6 follows in 10s")).collect();
    assert_eq!(lines, expected);
    let (error, lines) = told(|| clusterctl::Error::invalid("cannot resolve api.github.com")).await;
    assert!(error.ends_with("cannot resolve api.github.com"), "{error}");
    assert!(lines.is_empty(), "{lines:?}");
    for (status, repeated) in [(403, 0), (410, 0), (429, 5), (500, 5)] {
        let url = "https://api.github.com/repos/acme/cloud/releases?page=1&per_page=100";
        let (_, lines) = told_by(Arc::new(Web::default().failing(url, status))).await;
        assert_eq!(lines.len(), repeated, "{status}: {lines:?}");
    }
}
