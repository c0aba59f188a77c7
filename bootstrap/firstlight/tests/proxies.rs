//! Commands of somebody whose environment names a proxy, or who has no network.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod pods;
mod website;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use test_proxy::Proxy;
use test_server::Server;
use tokio::process::Command;

use website::Website;

/// The limit of a command. One that tried a request again and again would take a minute.
const DEADLINE: Duration = Duration::from_secs(45);
const VARIABLES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// A machine with a server, whose commands have an environment of their own.
struct Machine {
    // It ends before its folder is deleted.
    server: Server,
    folder: tempfile::TempDir,
}

impl Machine {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(program(), folder.path(), &[]).await.unwrap();
        Self { folder, server }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs a command to its end; returns whether it succeeded, and what it printed.
    async fn run(&self, command: &str, environment: &[(&str, &str)]) -> (bool, String) {
        let words = command.split(' ').map(|word| match word {
            "DATA" => self.folder.path().join("data").to_str().unwrap().to_owned(),
            "KUBECONFIG" => self.server.kubeconfig().to_str().unwrap().to_owned(),
            word => word.to_owned(),
        });
        let mut command = Command::new(program());
        command
            .current_dir(self.folder.path())
            .args(words)
            .env("HOME", self.folder.path())
            .env_remove("KUBECONFIG")
            .kill_on_drop(true);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.envs(environment.iter().copied());
        let output = tokio::time::timeout(DEADLINE, command.output()).await.unwrap().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.success(), printed)
    }

    async fn succeeds(&self, command: &str, environment: &[(&str, &str)]) -> String {
        let (succeeded, printed) = self.run(command, environment).await;
        assert!(succeeded, "{command} with {environment:?}: {printed}");
        printed
    }

    async fn fails(&self, command: &str, environment: &[(&str, &str)]) -> String {
        let (succeeded, printed) = self.run(command, environment).await;
        assert!(!succeeded, "{command} with {environment:?}: {printed}");
        printed
    }

    /// The providers in the inventory, with their versions and namespaces.
    async fn providers(&self) -> Vec<String> {
        let kind = GroupVersionKind::gvk("clusterctl.cluster.x-k8s.io", "v1alpha3", "Provider");
        let api: Api<DynamicObject> =
            Api::all_with(self.server.client().await.unwrap(), &ApiResource::from_gvk(&kind));
        let listed = api.list(&ListParams::default()).await.unwrap();
        let text = |one: &DynamicObject| {
            let name = one.metadata.name.clone().unwrap();
            let namespace = one.metadata.namespace.clone().unwrap();
            format!("{namespace}/{name} {}", one.data["version"].as_str().unwrap())
        };
        listed.items.iter().map(text).collect()
    }

    fn port(&self) -> u16 {
        let text = std::fs::read_to_string(self.server.kubeconfig()).unwrap();
        let (_, rest) = text.split_once("https://127.0.0.1:").unwrap();
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    }
}

fn program() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO_BIN_EXE_firstlight"))
}

#[tokio::test]
async fn no_proxy_is_between_a_command_and_the_server_of_this_machine() {
    let machine = Machine::new().await;
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        for proxy in ["http://127.0.0.1:9", "socks5://nowhere.invalid", "nonsense://secret:word@", "http://["]
        {
            machine.succeeds("upgrade plan --kubeconfig KUBECONFIG", &[(name, proxy)]).await;
        }
    }
    let broken = [("HTTPS_PROXY", "http://127.0.0.1:9")];
    machine.succeeds("status --data-dir DATA", &broken).await;
    machine.succeeds("backup --data-dir DATA backup.firstlight", &broken).await;
}

#[tokio::test]
async fn what_is_built_in_needs_no_network() {
    let machine = Machine::new().await;
    let without = [("HTTPS_PROXY", "http://127.0.0.1:9")];
    let chosen = "init --infrastructure metal3,docker --ipam in-cluster,metal3 --bootstrap kubeadm --control-plane kubeadm";
    let said = machine.succeeds(&format!("{chosen} --kubeconfig KUBECONFIG"), &without).await;
    for label in [
        "infrastructure-metal3",
        "infrastructure-docker",
        "ipam-in-cluster",
        "ipam-metal3",
        "bootstrap-kubeadm",
        "control-plane-kubeadm",
    ] {
        assert!(said.contains(&format!("Skipping {label}: its controllers run in the server")), "{said}");
    }
    let other =
        machine.succeeds("init --infrastructure metal3:v1.9.0 --kubeconfig KUBECONFIG", &without).await;
    assert!(other.contains("instead of v1.9.0; the server's flag --controllers chooses"), "{other}");
    let images = "init list-images --infrastructure metal3 --kubeconfig KUBECONFIG";
    assert_eq!(machine.succeeds(images, &without).await, "");
    assert_eq!(
        machine.providers().await,
        [
            "caip-in-cluster-system/ipam-in-cluster v1.0.0",
            "capd-system/infrastructure-docker v1.14.0",
            "capi-kubeadm-bootstrap-system/bootstrap-kubeadm v1.14.0",
            "capi-kubeadm-control-plane-system/control-plane-kubeadm v1.14.0",
            "capi-system/cluster-api v1.14.0",
            "capm3-system/infrastructure-metal3 v1.13.2",
            "capm3-system/ipam-metal3 v1.13.2",
        ]
    );
    let plan = machine.succeeds("upgrade plan --kubeconfig KUBECONFIG", &without).await;
    assert_eq!(plan.matches("Already up to date").count(), 7, "{plan}");
}

/// Prints the components of a provider of the web server.
const DESCRIBE: &str = "generate provider --infrastructure garden:v0.3.0 --describe --config";

#[tokio::test]
async fn providers_come_through_every_kind_of_proxy() {
    let (machine, website) = (Machine::new().await, Website::start().await);
    let authority = machine.file("authority.pem", website.authority());
    let authority = ("SSL_CERT_FILE", authority.to_str().unwrap());
    let config = machine.file("clusterctl.yaml", website::CONFIGURATION);
    let describe = format!("{DESCRIBE} {}", config.display());
    let proxies = [
        ("http", Proxy::http().await.unwrap()),
        ("https", Proxy::https(website.tls("127.0.0.1")).await.unwrap()),
        ("socks5h", Proxy::socks().await.unwrap()),
    ];
    for (scheme, proxy) in proxies {
        proxy.knows(website::HOST, website.address());
        proxy.with(|state| state.credentials = Some(("user".to_owned(), "p@ss".to_owned())));
        let url = format!("{scheme}://user:p%40ss@{}", proxy.address());
        let told = machine.succeeds(&describe, &[authority, ("HTTPS_PROXY", &url)]).await;
        assert!(told.contains("registry.example/garden:v0.3.0"), "{told}");
        assert!(proxy.asked().iter().all(|line| line.ends_with(website::HOST)), "{:?}", proxy.asked());
        let url = format!("{scheme}://user:wrong@{}", proxy.address());
        let told = machine.fails(&describe, &[authority, ("ALL_PROXY", &url)]).await;
        assert!(told.contains("wants credentials") && !told.contains("wrong"), "{told}");
    }
    let proxy = Proxy::http().await.unwrap();
    proxy.knows(website::HOST, website.address());
    let url = format!("http://{}", proxy.address());
    let told = machine.fails(&describe, &[("HTTPS_PROXY", &url)]).await;
    assert!(told.contains("SSL_CERT_FILE"), "{told}");
}

#[tokio::test]
async fn without_a_network_a_command_says_what_to_do() {
    let machine = Machine::new().await;
    let config = machine.file("clusterctl.yaml", website::CONFIGURATION);
    let describe = format!("{DESCRIBE} {}", config.display());
    let proxy = Proxy::http().await.unwrap();
    let url = format!("http://{}", proxy.address());
    for environment in [&[][..], &[("HTTPS_PROXY", url.as_str()), ("NO_PROXY", ".invalid")]] {
        let told = machine.fails(&describe, environment).await;
        assert!(told.contains("cannot resolve files.invalid"), "{told}");
        for way in ["--bundle", "clusterctl's configuration", "HTTPS_PROXY"] {
            assert!(told.contains(way), "{told}");
        }
    }
    assert!(proxy.asked().is_empty());
    let told = machine.fails(&describe, &[("HTTPS_PROXY", "ftp://user:word@proxy")]).await;
    assert!(told.contains("HTTPS_PROXY is not the address of a proxy: its scheme"), "{told}");
    assert!(!told.contains("word") && !told.contains("feature"), "{told}");
}

#[tokio::test]
async fn another_cluster_is_reached_through_the_proxy_of_its_kubeconfig_or_of_the_environment() {
    const CLUSTER: &str = "cluster.invalid:6443";
    let machine = Machine::new().await;
    let own = std::fs::read_to_string(machine.server.kubeconfig()).unwrap();
    let port = machine.port();
    let proxy = Proxy::socks().await.unwrap();
    proxy.knows(CLUSTER, SocketAddr::from(([127, 0, 0, 1], port)));
    let url = format!("socks5://{}", proxy.address());
    let server = format!("https://127.0.0.1:{port}");
    let far = |more: &str| {
        own.replace(&server, &format!("https://{CLUSTER}\n    tls-server-name: localhost{more}"))
    };
    let by_environment = machine.file("by-environment", &far(""));
    let by_itself = machine.file("by-itself", &far(&format!("\n    proxy-url: {url}")));
    let plan = |path: &PathBuf| format!("upgrade plan --kubeconfig {}", path.display());
    machine.succeeds(&plan(&by_environment), &[("HTTPS_PROXY", &url)]).await;
    let asked = proxy.asked();
    assert!(!asked.is_empty() && asked.iter().all(|line| line == &format!("SOCKS {CLUSTER}")), "{asked:?}");
    // The kubeconfig comes before the environment.
    machine.succeeds(&plan(&by_itself), &[("HTTPS_PROXY", "http://127.0.0.1:9")]).await;
    assert!(proxy.asked().len() > asked.len());
    let told = machine
        .fails(&plan(&by_environment), &[("HTTPS_PROXY", &url), ("NO_PROXY", "cluster.invalid")])
        .await;
    assert!(told.contains("cannot resolve cluster.invalid"), "{told}");
}
