//! The simulated provisioning network: every machine has its own address and sends requests to the services.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use agent_protocol::dhcp::MacAddress;
use anyhow::{Result, anyhow};
use axum::Router;
use axum::body::Body;
use chrono::TimeDelta;
use engine::Manager;
use http::Request;
use http_body_util::BodyExt as _;
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::dhcp4::server::Addresses;
use metal_boot::machine::{Directory, Lease};
use metal_provisioning::agents::Agents;
use metal_provisioning::directory::Kube;
use metal_provisioning::http::routes::router;
use metal_provisioning::http::site::Site;
use metal_provisioning::metadata::Metadata;
use metal_provisioning::metrics::Metrics;
use net::server::Peer;
use tower::ServiceExt as _;

use super::mac;

/// The services of one run of the server.
pub(super) struct Wire {
    pub(super) agents: Arc<Agents>,
    router: Router,
    _leases: tempfile::TempDir,
}

/// The address of machine number `number`.
pub(super) fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a02_0000 + u32::try_from(number).unwrap_or(0) + 1)
}

impl Wire {
    /// Starts the services with leases for `count` machines.
    pub(super) async fn start(manager: &Manager, count: usize) -> Result<Self> {
        let kube = Kube::start(manager, true).await;
        let known = kube.leases().len();
        for number in known..count {
            kube.write_lease(lease(manager, number)?).await?;
        }
        let folder = tempfile::tempdir()?;
        let directory: Arc<dyn Directory> = Arc::new(kube.clone());
        let metrics = metal_boot::metrics::Metrics::of(manager.all_metrics());
        let leases = folder.path().join("leases");
        let addresses = Addresses::open(directory.clone(), manager.clock().clone(), &leases, metrics)?;
        let metadata = Metadata::start(manager, kube.clone(), addresses.clone()).await;
        let agents = Agents::start(manager, kube, addresses, metadata.clone(), None).await;
        let file = |name: &str| [(Processor::X86_64, PathBuf::from(name))].into();
        let boot = BootFiles { kernels: file("kernel"), initial: file("initrd"), ..BootFiles::default() };
        let site = Site {
            boot,
            tftp: Default::default(),
            images: None,
            registry: Default::default(),
            directory,
            metadata: Some(metadata),
            bootstrap: None,
            media: None,
            agents: Some(agents.clone()),
            personal: None,
            bundle_files: None,
            http_port: 8080,
            https_port: Some(8443),
        };
        let metrics = Metrics::of(manager.all_metrics());
        Ok(Self { agents, router: router(Arc::new(site), &metrics), _leases: folder })
    }

    /// The body of the response to an HTTP request.
    pub(super) async fn ask(&self, path: &str, from: IpAddr) -> Result<String> {
        let local = ([10, 2, 255, 254], 8080).into();
        let peer = Peer { address: (from, 40000).into(), local, certificates: Arc::default() };
        let request = Request::get(path).extension(peer).body(Body::empty())?;
        let response = self.router.clone().oneshot(request).await?;
        let body = response.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The boot script of machine `number`, requested from the address `from`.
    pub(super) async fn script(&self, number: usize, from: IpAddr) -> Result<String> {
        self.ask(&format!("/boot/script/{}.ipxe", mac(number).replace(':', "-")), from).await
    }
}

/// The token in a script.
pub(super) fn token(script: &str) -> Option<String> {
    let after = script.split("firstlight.token=").nth(1)?;
    after.split_ascii_whitespace().next().map(str::to_owned)
}

fn lease(manager: &Manager, number: usize) -> Result<Lease> {
    Ok(Lease {
        mac: mac(number).parse::<MacAddress>().map_err(|error| anyhow!("{error}"))?,
        address: address(number),
        expires: manager.clock().now() + TimeDelta::days(365),
        host_name: None,
        interface: "eth0".into(),
        relay: None,
        architecture: None,
        vendor_class: None,
    })
}
