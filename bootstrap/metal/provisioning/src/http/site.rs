//! The services and files behind the HTTP routes, and what several of them give together.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use agent_protocol::dhcp::MacAddress;
use http::request::Parts;
use http::{Response, StatusCode};
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::machine::{Boot, Directory};

use super::bundles::BundleFiles;
use super::file::{self, Body};
use super::peer::Peer;
use super::percent::percent_decoded;
use super::registry::Registry;
use super::script::{self, script};
use crate::agents::Agents;
use crate::bootstrap::BootstrapReports;
use crate::media::Media;
use crate::metadata::Metadata;
use crate::personal::Personal;

/// The services and files behind the HTTP routes ([`super::routes`]).
#[derive(Clone)]
pub struct Site {
    /// The boot files.
    pub boot: BootFiles,
    /// The names of [`BootFiles::tftp_names`].
    pub tftp: BTreeSet<String>,
    /// A folder whose files are served below `/images/`.
    pub images: Option<PathBuf>,
    /// The container images and disk images of bundles.
    pub registry: Registry,
    /// The files of bundles, for the server that takes over.
    pub bundle_files: Option<BundleFiles>,
    /// The directory of machines.
    pub directory: Arc<dyn Directory>,
    /// The metadata service for installed machines.
    pub metadata: Option<Arc<Metadata>>,
    /// The service for reports of installed systems.
    pub bootstrap: Option<Arc<BootstrapReports>>,
    /// The virtual media images, for hosts that do not boot over the network.
    pub media: Option<Arc<Media>>,
    /// The service for agents.
    pub agents: Option<Arc<Agents>>,
    /// The service that makes boot files for single machines.
    pub personal: Option<Personal>,
    /// The port of the HTTP server.
    pub http_port: u16,
    /// The port of the HTTPS server, if there is one.
    pub https_port: Option<u16>,
}

impl Site {
    /// Returns whether a BareMetalHost describes the machine with this address.
    pub fn is_known(&self, client: IpAddr) -> bool {
        self.agents.as_ref().is_some_and(|agents| agents.is_known(client))
    }

    pub(super) async fn boot_file(&self, name: &str, asked: &Parts, peer: &Peer) -> Response<Body> {
        if let Some(personal) = &self.personal
            && let Some(made) = personal.find(name, peer.address.ip()).await
        {
            return file::made(made.content, &made.tag, &asked.method, &asked.headers);
        }
        match self.boot.path(name, &self.tftp) {
            Some(path) => file::answer(&path, &asked.method, &asked.headers).await,
            None => file::not_found(),
        }
    }

    /// Returns `http://ADDRESS:PORT`, as the machine reaches the server.
    pub(super) fn http(&self, peer: &Peer) -> String {
        format!("http://{}", socket(peer.local.ip(), self.http_port))
    }

    pub(super) async fn script(&self, name: &str, query: Option<&str>, peer: &Peer) -> Response<Body> {
        let Some(Ok(mac)) = name.strip_suffix(".ipxe").map(str::parse::<MacAddress>) else {
            return file::not_found();
        };
        let processor = query.and_then(|query| query.strip_prefix("processor=")).map(Processor::from_name);
        let processor = match processor {
            None => Processor::X86_64,
            Some(Some(processor)) => processor,
            Some(None) => return file::not_found(),
        };
        let local = peer.local.ip();
        let http = self.http(peer);
        let https = self.https_port.map(|port| format!("https://{}", socket(local, port)));
        let boot = self.directory.machine(mac).boot;
        let has_kernel =
            self.boot.kernels.contains_key(&processor) && self.boot.initial.contains_key(&processor);
        let token = match &self.agents {
            Some(agents) if has_kernel && boot == Boot::Agent => agents.token(mac, peer.address.ip()).await,
            _ => None,
        };
        let server = script::Server {
            http: &http,
            https: https.as_deref(),
            has_kernel,
            arguments: &self.boot.arguments,
            token: token.as_deref(),
        };
        file::text(StatusCode::OK, script(mac, processor, &boot, &server))
    }

    /// Returns the path of a file below the folder of images; neither `..` nor symbolic links lead out of the folder.
    pub(super) fn image(&self, name: &str) -> Option<PathBuf> {
        let root = self.images.as_ref()?;
        let name = percent_decoded(name)?;
        let plain = |part| matches!(part, Component::Normal(_));
        if name.is_empty() || name.contains('\0') || !Path::new(&name).components().all(plain) {
            return None;
        }
        let path = root.join(name).canonicalize().ok()?;
        path.starts_with(root.canonicalize().ok()?).then_some(path)
    }
}

/// Returns `ADDRESS:PORT`, with brackets for IPv6. An IPv4-mapped IPv6 address is written as IPv4.
fn socket(address: IpAddr, port: u16) -> String {
    SocketAddr::new(address.to_canonical(), port).to_string()
}
