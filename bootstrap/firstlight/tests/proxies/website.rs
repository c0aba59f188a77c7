//! A web server with the files of a provider, under the name of another machine.

use std::net::SocketAddr;
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The host and the port under which a proxy knows it. No resolver does.
pub const HOST: &str = "files.invalid:443";
/// clusterctl's configuration with the provider.
pub const CONFIGURATION: &str = "providers:\n- {name: garden, type: InfrastructureProvider, url: 'https://files.invalid/garden/v0.3.0/infrastructure-components.yaml'}\n";
const COMPONENTS: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: garden-controller-manager, namespace: garden-system}
spec:
  selector: {matchLabels: {app: garden}}
  template:
    metadata: {labels: {app: garden}}
    spec: {containers: [{name: manager, image: "registry.example/garden:v0.3.0"}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: garden-system}
"#;
const METADATA: &str = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 0, minor: 3, contract: v1beta2}\n";

/// The web server, and the authority of its certificate.
pub struct Website {
    address: SocketAddr,
    authority: CertificateAuthority,
}

impl Website {
    pub async fn start() -> Self {
        let now = Clock::system().now();
        let authority =
            CertificateAuthority::generate("proxy", KeyAlgorithm::default(), None, now, &Random::system());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let website = Self { address, authority: authority.unwrap() };
        let tls = TlsAcceptor::from(Arc::new(website.tls("files.invalid")));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that does not trust the certificate ends the connection.
                drop(tokio::spawn(answer(tls.clone(), stream)));
            }
        });
        website
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn authority(&self) -> &str {
        self.authority.certificate()
    }

    /// The settings of a server with this name, with a certificate of the authority.
    pub fn tls(&self, name: &str) -> ServerConfig {
        let (clock, random) = (Clock::system(), Random::system());
        let leaf = Leaf::server(name, vec![name.to_owned()]);
        let leaf = self.authority.issue(&leaf, clock.now(), &random).unwrap();
        let certificates = Arc::new(ServerCertificates::new(&leaf).unwrap());
        server_config(certificates, &ClientCertificates::None, &[], &clock).unwrap()
    }
}

async fn answer(tls: TlsAcceptor, stream: TcpStream) -> std::io::Result<()> {
    let mut stream = tls.accept(stream).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let file = match head.split(' ').nth(1) {
        Some("/garden/v0.3.0/infrastructure-components.yaml") => COMPONENTS,
        Some("/garden/v0.3.0/metadata.yaml") => METADATA,
        _ => "",
    };
    let status = if file.is_empty() { "404 Not Found" } else { "200 OK" };
    let length = file.len();
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{file}");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}
