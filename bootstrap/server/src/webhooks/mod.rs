//! The webhooks of `firstlight controllers`: admission and conversion of the kinds in a cluster whose API server is not firstlight's.
//!
//! Every process serves them. Their certificate is in a Secret that all share (`certificates`), and the process that leads writes the
//! authority to the objects that make the API server call them (`registration`).

pub mod certificates;
mod names;
pub mod registration;
pub mod reviews;
pub mod server;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use access::certificate::Authorities;
use anyhow::{Context as _, Result};
use clap::Args;
use engine::Manager;
use pki::tls::{ClientCertificates, server_config};
use tokio::sync::watch;

pub use names::{CONFIGURATION, CONVERSION, DEFAULTS, RULES, SECRET, SERVICE};
pub use registration::conversion;
pub use reviews::{Needs, needs};

use certificates::{Certificates, Current};
use server::Site;

use crate::admission::ClusterApiAdmission;
use crate::bind::bind;
use crate::options::Address;

/// The flags of the webhooks.
#[derive(Debug, Clone, Default, Args)]
pub struct WebhookOptions {
    /// Address of the webhooks for admission and conversion, for example :9443 [default: not served]
    ///
    /// `--install` creates the objects that make the API server of the cluster call them.
    #[arg(long, value_name = "ADDR:PORT")]
    pub webhook_address: Option<Address>,
    /// File with certificate authorities: who asks for admission needs a client certificate of one of them [default: everybody may ask]
    ///
    /// A kube-apiserver presents the certificate that its --admission-control-config-file names for the webhooks. It has none for
    /// conversions, which stay open to everybody and return what they were sent.
    #[arg(long, value_name = "FILE", requires = "webhook_address")]
    pub webhook_client_ca: Option<PathBuf>,
}

impl WebhookOptions {
    /// Returns the authorities of clients, PEM; `None` if everybody may ask for admission.
    fn authorities(&self) -> Result<Option<String>> {
        let Some(path) = &self.webhook_client_ca else { return Ok(None) };
        let text = std::fs::read_to_string(path);
        text.map(Some).with_context(|| format!("--webhook-client-ca: cannot read {}", path.display()))
    }
}

/// The running webhooks, which end with the manager.
pub struct Webhooks {
    /// The address on which they listen.
    pub address: SocketAddr,
    namespace: String,
    authority: watch::Receiver<String>,
}

impl Webhooks {
    /// Starts the webhooks if `options` has an address. `own_namespace` is that of this process, if it is a pod; the Secret and the Service
    /// are there. `rules` are the rules of admission.
    ///
    /// # Errors
    /// The process cannot listen on the address, the namespace is unknown, or the Secret cannot be read and written.
    pub async fn start(
        options: &WebhookOptions,
        manager: &Manager,
        own_namespace: Option<&str>,
        rules: ClusterApiAdmission,
    ) -> Result<Option<Self>> {
        let Some(listener) = bind(options.webhook_address.as_ref(), "--webhook-address").await? else {
            return Ok(None);
        };
        let namespace = own_namespace
            .context("--webhook-address: this process is no pod, so it has no namespace for its certificates; name one with --leader-elect-namespace")?
            .to_owned();
        let certificates = Certificates::new(manager, &namespace);
        let first = certificates.ensure().await?;
        let current = Arc::new(Current::new(&first)?);
        let (sender, authority) = watch::channel(first.authority.certificate.clone());
        let (clients, authorities) = match options.authorities()? {
            None => (ClientCertificates::None, None),
            Some(text) => {
                let authorities = Authorities::from_pem(&text).context("--webhook-client-ca")?;
                (ClientCertificates::Optional(text), Some(authorities))
            }
        };
        let config = server_config(current.clone(), &clients, &["http/1.1"], manager.clock())
            .context("the webhooks cannot be served")?;
        let address = listener.local_addr()?;
        let site = Arc::new(Site::new(manager, rules, authorities)?);
        manager.spawn(site.server(config, manager).serve(listener));
        manager.spawn(certificates.keep(first, current, sender));
        Ok(Some(Self { address, namespace, authority }))
    }

    /// Keeps the authority in the objects that make the API server call the webhooks. Only the process that leads calls this.
    pub fn register(&self, manager: &Manager) {
        manager.spawn(registration::keep(manager.clone(), self.namespace.clone(), self.authority.clone()));
    }
}
