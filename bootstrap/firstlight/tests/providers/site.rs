//! A server with a repository of providers in a folder, and the program that installs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client};
use serde_json::{Value, json};
use test_server::Server;

use crate::pods::image;

pub const NAMESPACE: &str = "garden-system";

/// The components of the provider `garden`. `SCRIPT` and `VERSION` are replaced, and the program replaces the variables.
const COMPONENTS: &str = include_str!("garden.yaml");

/// What a manager of the provider does that runs.
pub const RUNS: &str = "echo I am VERSION; while true; do sleep 1; done";

pub struct Site {
    pub server: Server,
    pub client: Client,
    pub folder: tempfile::TempDir,
}

impl Site {
    /// Starts a server whose images are in an archive, and a repository with version v0.3.0 of the provider.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let images = image::write(folder.path(), false);
        let options = ["--store", "memory", "--container-images", images.to_str().unwrap()];
        Self::start_with(folder, &options).await
    }

    pub async fn start_with(folder: tempfile::TempDir, options: &[&str]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_firstlight"));
        let server = Server::start(program, folder.path(), options).await.unwrap();
        let client = server.client().await.unwrap();
        let site = Self { server, client, folder };
        site.publish("v0.3.0", RUNS, image::NAME);
        site.configure(json!({"GARDEN_TOKEN": "moss"}));
        site
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    /// Writes a file of a version of the provider.
    pub fn write(&self, version: &str, file: &str, text: &str) {
        let folder = self.repository().join("infrastructure-garden").join(version);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(file), text).unwrap();
    }

    /// Reads a file of a version of the provider.
    pub fn read(&self, version: &str, file: &str) -> String {
        std::fs::read_to_string(self.repository().join("infrastructure-garden").join(version).join(file))
            .unwrap()
    }

    /// Publishes a version of the provider.
    pub fn publish(&self, version: &str, script: &str, image: &str) {
        let text = COMPONENTS.replace("SCRIPT", script).replace("IMAGE", image).replace("VERSION", version);
        self.write(version, "infrastructure-components.yaml", &text);
        let series = json!([
            {"major": 0, "minor": 3, "contract": "v1beta1"}, {"major": 0, "minor": 4, "contract": "v1beta2"},
            {"major": 0, "minor": 5, "contract": "v1beta2"}, {"major": 0, "minor": 2, "contract": "v1alpha4"},
        ]);
        let metadata = json!({
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata", "releaseSeries": series,
        });
        self.write(version, "metadata.yaml", &metadata.to_string());
    }

    /// Writes the configuration with these variables.
    pub fn configure(&self, mut more: Value) {
        let url = self.repository().join("infrastructure-garden/v0.3.0/infrastructure-components.yaml");
        more["providers"] = json!([{"name": "garden", "type": "InfrastructureProvider", "url": url}]);
        self.write_configuration(&more);
    }

    /// Writes the configuration with these providers.
    pub fn configure_providers(&self, providers: Value) {
        self.write_configuration(&json!({"providers": providers}));
    }

    fn write_configuration(&self, configuration: &Value) {
        std::fs::write(self.folder.path().join("clusterctl.yaml"), configuration.to_string()).unwrap();
    }

    /// Runs a command of the program against the server.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(&self.server.kubeconfig(), arguments)
    }

    /// The same with another kubeconfig.
    pub fn run_with(&self, kubeconfig: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(["--config", self.folder.path().join("clusterctl.yaml").to_str().unwrap()]);
        command.args(arguments).arg("--kubeconfig").arg(kubeconfig);
        // A provider that does not run says so in time.
        if arguments.contains(&"--wait-providers") && !arguments.contains(&"--wait-provider-timeout") {
            command.args(["--wait-provider-timeout", "60"]);
        }
        // Nothing of whoever runs the test.
        command.env("XDG_CONFIG_HOME", self.folder.path()).env("HOME", self.folder.path());
        command.output().unwrap()
    }

    /// The same for a command that must succeed; returns its standard output and error.
    pub fn succeed(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let (out, err) = texts(&output);
        assert!(output.status.success(), "{arguments:?}\n{out}\n{err}\n{}", self.server.log());
        (out, err)
    }

    /// The same for a command that must fail; returns its standard error.
    pub fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}\n{out}\n{err}");
        err
    }

    pub async fn deployment(&self) -> Option<Deployment> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), NAMESPACE);
        deployments.get_opt("garden-controller-manager").await.unwrap()
    }

    /// Whether the provider runs, with the label that its version gives to its Pods.
    pub async fn is_available(&self, version: &str) -> bool {
        let Some(deployment) = self.deployment().await else { return false };
        let template = deployment.spec.template.metadata.unwrap().labels.unwrap();
        let conditions = deployment.status.and_then(|status| status.conditions).unwrap_or_default();
        template["version"] == version
            && conditions
                .iter()
                .any(|one| one.type_.as_deref() == Some("Available") && one.status.as_deref() == Some("True"))
    }

    /// Returns the objects of a kind from the API, as `/apis/GROUP/VERSION/…`.
    pub async fn get(&self, path: &str) -> Option<Value> {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        match self.client.request(request).await {
            Ok(found) => Some(found),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Creates an object, and returns the server's answer.
    pub async fn post(&self, path: &str, object: Value) -> Value {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.to_string().into_bytes()).unwrap();
        self.client.request(request).await.unwrap()
    }

    /// Returns the entries of the inventory: their versions and namespaces by name.
    pub async fn inventory(&self) -> Value {
        let list = self.get("/apis/clusterctl.cluster.x-k8s.io/v1alpha3/providers").await.unwrap();
        let entry = |item: &Value| {
            let name = item["metadata"]["name"].as_str().unwrap().to_owned();
            (name, json!([item["version"], item["metadata"]["namespace"]]))
        };
        Value::Object(list["items"].as_array().unwrap().iter().map(entry).collect())
    }

    /// Waits until something is so.
    pub async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let waited = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), waited).await;
        waited.unwrap_or_else(|_| panic!("{what}: not within a minute\n{}", self.server.log()));
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
