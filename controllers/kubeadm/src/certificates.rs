//! The certificate authorities and keys of a cluster, as Secrets in the management cluster and as files on
//! control plane nodes.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use machinery::random::Random;
use pki::{CertificateAuthority, Identity, KeyAlgorithm, PrivateKey};
use schemas::bootstrap::{ClusterConfiguration, ExternalEtcd};

use crate::error::{Error, Result};
use crate::host::File;
use crate::names::file;

/// Key of the certificate (or public key) in a Secret.
pub const CERTIFICATE_KEY: &str = "tls.crt";
/// Key of the private key in a Secret.
pub const PRIVATE_KEY: &str = "tls.key";

/// The purpose of a cluster's Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// The cluster's certificate authority.
    ClusterAuthority,
    /// The certificate authority of etcd.
    EtcdAuthority,
    /// The certificate authority of the API server's front proxy.
    FrontProxyAuthority,
    /// The keys that sign service-account tokens.
    ServiceAccount,
    /// The client certificate of the API server for an external etcd; created by the user.
    EtcdClient,
}

impl Purpose {
    /// Returns the suffix of the Secret's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::ClusterAuthority => "ca",
            Self::ServiceAccount => "sa",
            Self::FrontProxyAuthority => "proxy",
            Self::EtcdAuthority => "etcd",
            Self::EtcdClient => "apiserver-etcd-client",
        }
    }

    /// Returns the name of the cluster's Secret.
    pub fn secret_name(self, cluster: &str) -> String {
        format!("{cluster}-{}", self.suffix())
    }
}

/// Returns the purposes of the Secrets that a cluster needs, in order of creation.
pub fn purposes(config: &ClusterConfiguration) -> Vec<Purpose> {
    let mut all = vec![
        Purpose::ClusterAuthority,
        Purpose::ServiceAccount,
        Purpose::FrontProxyAuthority,
        Purpose::EtcdAuthority,
    ];
    if external_etcd(config).is_some() {
        all.push(Purpose::EtcdClient);
    }
    all
}

/// Returns whether the user creates this Secret, so that this program never does.
pub fn is_given(purpose: Purpose, config: &ClusterConfiguration) -> bool {
    match purpose {
        Purpose::EtcdClient => true,
        Purpose::EtcdAuthority => external_etcd(config).is_some(),
        _ => false,
    }
}

/// Returns the external etcd, or `None` if etcd runs on the control plane nodes.
pub fn external_etcd(config: &ClusterConfiguration) -> Option<&ExternalEtcd> {
    config.etcd.as_ref()?.external.as_ref()
}

/// The parameters for new keys and authorities, from the cluster configuration: ECDSA P-256 unless it names
/// another algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recipe {
    /// Algorithm of the keys.
    pub algorithm: KeyAlgorithm,
    /// Validity of authorities in days.
    pub authority_days: Option<i32>,
}

impl Recipe {
    /// Reads the recipe from the cluster configuration.
    ///
    /// # Errors
    /// Fails for an unknown algorithm.
    pub fn of(config: &ClusterConfiguration) -> Result<Self> {
        let algorithm = match config.encryption_algorithm.as_deref().filter(|name| !name.is_empty()) {
            None => KeyAlgorithm::default(),
            Some(name) => {
                name.parse().map_err(Error::certificate("clusterConfiguration.encryptionAlgorithm"))?
            }
        };
        Ok(Self { algorithm, authority_days: config.ca_certificate_validity_period_days })
    }

    /// Creates the content of the Secret of `purpose`. RSA keys take long; call this from a blocking task for
    /// them.
    ///
    /// # Errors
    /// [`Error::Certificate`].
    pub fn make(&self, purpose: Purpose, now: DateTime<Utc>, random: &Random) -> Result<Identity> {
        let named = Error::certificate(format!("the {} Secret", purpose.suffix()));
        if purpose == Purpose::ServiceAccount {
            let key = PrivateKey::generate(self.algorithm, random).map_err(named)?;
            return Ok(Identity { certificate: key.public_key_pem(), key: key.to_pem() });
        }
        let validity = self.authority_days.map(|days| Duration::days(i64::from(days)));
        let authority = CertificateAuthority::generate("kubernetes", self.algorithm, validity, now, random);
        Ok(authority.map_err(named)?.identity())
    }
}

/// Builds the Secret of `purpose`.
pub fn secret(
    namespace: &str,
    cluster: &str,
    purpose: Purpose,
    identity: &Identity,
    owner: OwnerReference,
) -> Secret {
    let data = [
        (CERTIFICATE_KEY.to_owned(), ByteString(identity.certificate.clone().into_bytes())),
        (PRIVATE_KEY.to_owned(), ByteString(identity.key.clone().into_bytes())),
    ];
    owned_secret(namespace, &purpose.secret_name(cluster), cluster, data.into(), owner)
}

/// Builds a Secret of Cluster API's type, with the cluster-name label.
pub fn owned_secret(
    namespace: &str,
    name: &str,
    cluster: &str,
    data: BTreeMap<String, ByteString>,
    owner: OwnerReference,
) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some([(engine::names::CLUSTER_NAME.to_owned(), cluster.to_owned())].into()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(data),
        type_: Some(engine::names::SECRET_TYPE.to_owned()),
        ..Secret::default()
    }
}

/// Returns the value of a Secret's key as text; `None` if absent, empty or not UTF-8.
pub fn text(secret: &Secret, key: &str) -> Option<String> {
    let bytes = &secret.data.as_ref()?.get(key)?.0;
    String::from_utf8(bytes.clone()).ok().filter(|text| !text.is_empty())
}

/// Returns whether a Secret of this purpose is of no use without its private key. The key of an authority may be
/// kept elsewhere, if somebody else issues the certificates of the nodes.
pub fn needs_key(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::ServiceAccount | Purpose::EtcdClient)
}

/// Returns certificate and key of a Secret; the key is empty if there is none and none is needed.
///
/// # Errors
/// Names the Secret and the missing key.
pub fn identity(secret: &Secret, needs_key: bool) -> Result<Identity> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let missing = |key: &str| Error::Bootstrap(format!("Secret {name} has no text under the key {key}"));
    let certificate = text(secret, CERTIFICATE_KEY).ok_or_else(|| missing(CERTIFICATE_KEY))?;
    let key = match text(secret, PRIVATE_KEY) {
        Some(key) => key,
        None if !needs_key => String::new(),
        None => return Err(missing(PRIVATE_KEY)),
    };
    Ok(Identity { certificate, key })
}

/// The authorities and keys of a cluster, by purpose.
pub type Certificates = BTreeMap<Purpose, Identity>;

/// Returns the certificate and key files of a control plane node.
pub fn files(certificates: &Certificates, config: &ClusterConfiguration) -> Vec<File> {
    let directory = config.certificates_dir.as_deref().filter(|text| !text.is_empty());
    let directory = directory.unwrap_or(file::CERTIFICATES);
    let external = external_etcd(config);
    let mut files = Vec::new();
    for (purpose, identity) in certificates {
        let (certificate, key) = match (purpose, external) {
            (Purpose::ClusterAuthority, _) => (format!("{directory}/ca.crt"), format!("{directory}/ca.key")),
            (Purpose::ServiceAccount, _) => (format!("{directory}/sa.pub"), format!("{directory}/sa.key")),
            (Purpose::FrontProxyAuthority, _) => {
                (format!("{directory}/front-proxy-ca.crt"), format!("{directory}/front-proxy-ca.key"))
            }
            (Purpose::EtcdAuthority, None) => {
                (format!("{directory}/etcd/ca.crt"), format!("{directory}/etcd/ca.key"))
            }
            (Purpose::EtcdAuthority, Some(external)) => (external.ca_file.clone(), String::new()),
            (Purpose::EtcdClient, Some(external)) => (external.cert_file.clone(), external.key_file.clone()),
            (Purpose::EtcdClient, None) => continue,
        };
        files.push(File::root(certificate, "0640", identity.certificate.clone()));
        if !key.is_empty() && !identity.key.is_empty() {
            files.push(File::root(key, "0600", identity.key.clone()));
        }
    }
    files
}
