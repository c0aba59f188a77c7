//! Images of a bundle, pulled by the real crane over HTTPS, which knows nothing but the authority.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which says why it skips")]

use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use bundle::{Additions, Bundle, Catalogue, Container};
use clients::session::Tools;
use machinery::clock::Clock;
use machinery::random::Random;
use metal_boot::table::MachineTable;
use metal_provisioning::http::registry::Registry;
use metal_provisioning::http::server::server;
use metal_provisioning::http::site::Site;
use metal_provisioning::metrics::Metrics;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The name of the image, which its registry would have.
const NAME: &str = "registry.example/team/firstlight:v1";

/// Serves a catalogue as `firstlight up --bundle` does, and returns the address. The certificate of the authority is written to `authority`.
async fn serve(
    catalogue: Catalogue,
    authority: &Path,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
) -> String {
    let (clock, random) = (Clock::system(), Random::system());
    let made =
        CertificateAuthority::generate("test", KeyAlgorithm::default(), None, clock.now(), &random).unwrap();
    std::fs::write(authority, made.certificate()).unwrap();
    let leaf = Leaf::server("registry", vec!["127.0.0.1".to_owned()]);
    let identity = made.issue(&leaf, clock.now(), &random).unwrap();
    let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
    let tls = server_config(certificates, &ClientCertificates::AnyIssuer, &["http/1.1"], &clock).unwrap();
    let site = Site {
        bootstrap: None,
        boot: Default::default(),
        tftp: Default::default(),
        images: None,
        registry: Registry::new(Arc::new(catalogue)),
        directory: Arc::new(MachineTable::default()),
        metadata: None,
        media: None,
        agents: None,
        personal: None,
        bundle_files: None,
        http_port: 8080,
        https_port: None,
    };
    let metrics = Metrics::of(&metrics::Metrics::default());
    let server = server(Arc::new(site), Some(Arc::new(tls)), &metrics, &random);
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap().to_string();
    tasks.spawn(shutdown.clone().run_until_cancelled_owned(server.serve(tcp)));
    address
}

/// Runs crane, which must end well, and returns what it printed.
async fn crane(tools: &Tools, folder: &Path, arguments: &[&str]) -> String {
    let run = Command::new(tools.clients.join("crane"))
        .args(arguments)
        .current_dir(folder)
        .env("SSL_CERT_FILE", folder.join("authority.pem"))
        .kill_on_drop(true)
        .output();
    let Output { status, stdout, stderr } = tokio::time::timeout(tools.deadline, run).await.unwrap().unwrap();
    assert!(status.success(), "crane {arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn crane_pulls_an_image_of_a_bundle_byte_by_byte() {
    let Some(tools) = Tools::find().map_err(|reason| eprintln!("skipped: {reason}")).ok() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut image = Command::new(&tools.firstlight);
    image.args(["image", "-o", "own.tar", "--image", NAME]).current_dir(folder);
    let image = image.output().await.unwrap();
    assert!(image.status.success(), "{image:?}");
    let path = folder.join("site.bundle");
    let container =
        |path: &Path| Container { name: None, path: path.to_owned(), platforms: bundle::Platforms::own() };
    let additions = Additions { containers: vec![container(&folder.join("own.tar"))], files: vec![] };
    bundle::write(&path, None, &additions).unwrap();
    let bundle = Bundle::open(&path).unwrap();
    let digest = bundle::list(&bundle).unwrap()[0].digest.to_string();
    let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
    let catalogue = Catalogue::of(&[bundle]).unwrap();
    let address = serve(catalogue, &folder.join("authority.pem"), &tasks, &shutdown).await;

    let served = format!("{address}/{NAME}");
    assert_eq!(crane(&tools, folder, &["catalog", &address]).await, "registry.example/team/firstlight");
    assert_eq!(
        crane(&tools, folder, &["ls", &format!("{address}/registry.example/team/firstlight")]).await,
        "v1"
    );
    assert_eq!(crane(&tools, folder, &["digest", &served]).await, digest);
    crane(&tools, folder, &["pull", "--format", "oci", &served, "pulled"]).await;
    crane(&tools, folder, &["pull", "--format", "tarball", &served, "pulled.tar"]).await;
    // Both forms go into another bundle, which checks every digest; the manifest is the same, so all of the image is.
    let again = folder.join("again.bundle");
    let container = Container { name: Some(NAME.parse().unwrap()), ..container(&folder.join("pulled")) };
    bundle::write(&again, None, &Additions { containers: vec![container.clone()], files: vec![] }).unwrap();
    assert_eq!(bundle::list(&Bundle::open(&again).unwrap()).unwrap()[0].digest.to_string(), digest);
    let docker = Container { path: folder.join("pulled.tar"), ..container };
    bundle::write(
        &folder.join("docker.bundle"),
        None,
        &Additions { containers: vec![docker], files: vec![] },
    )
    .unwrap();
    shutdown.cancel();
    tasks.close();
    tasks.wait().await;
}
