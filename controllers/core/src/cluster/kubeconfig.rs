//! The kubeconfig of a Cluster without a control plane object, issued by the cluster's certificate authority.

use chrono::{DateTime, Utc};
use engine::names::{CLUSTER_NAME, SECRET_TYPE};
use engine::steps::Named;
use engine::{Action, Error, NamespacedName, Result, Stepwise, Tools, owners};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::random::Random;
use pki::kubeconfig::Kubeconfig;
use pki::{CertificateAuthority, Leaf};
use schemas::cluster::Cluster;

use super::CONTROLLER;
use super::observe::ClusterController;
use super::observed::Observed;

/// The step that makes the kubeconfig of the Cluster of this name.
pub struct MakeKubeconfig(pub NamespacedName);

impl Named for MakeKubeconfig {
    fn verb(&self) -> &'static str {
        "make_kubeconfig"
    }

    fn target(&self) -> String {
        format!("Cluster {}", self.0)
    }
}

impl Stepwise for ClusterController {
    type Observed = Observed;
    type Step = MakeKubeconfig;

    fn tools(&self) -> Tools<'_> {
        Tools::new(CONTROLLER.name, &self.manager).events(&self.recorder)
    }

    async fn perform(&self, observed: &Observed, _: &MakeKubeconfig) -> Result<Action> {
        if let Some(authority) = &observed.authority {
            let secret = secret(&observed.cluster, authority, observed.now, self.manager.random())?;
            self.secrets.create_if_absent(&secret).await?;
        }
        Ok(Action::done())
    }
}

/// Returns the Secret `<cluster>-kubeconfig`, owned by the Cluster.
///
/// # Errors
/// Fails if the authority's Secret holds no usable certificate and key.
fn secret(cluster: &Cluster, authority: &Secret, now: DateTime<Utc>, random: &Random) -> Result<Secret> {
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let failed =
        |what: &str| Error::failed(format!("the kubeconfig of Cluster {name} can't be made: {what}"));
    let entry = |key: &str| {
        let bytes = authority.data.as_ref().and_then(|data| data.get(key));
        bytes
            .and_then(|bytes| String::from_utf8(bytes.0.clone()).ok())
            .ok_or_else(|| failed(&format!("Secret {name}-ca has no {key}")))
    };
    let (certificate, key) = (entry("tls.crt")?, entry("tls.key")?);
    let authority =
        CertificateAuthority::from_pem(&certificate, &key).map_err(|error| failed(&error.to_string()))?;
    let leaf = Leaf::client("kubernetes-admin", &["system:masters"]);
    let identity = authority.issue(&leaf, now, random).map_err(|error| failed(&error.to_string()))?;
    let endpoint = cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
    let server =
        format!("https://{}:{}", endpoint.host.unwrap_or_default(), endpoint.port.unwrap_or_default());
    let kubeconfig = Kubeconfig::for_cluster(&name, &server, &certificate, identity);
    let yaml = kubeconfig.to_yaml().map_err(|error| failed(&error.to_string()))?;
    Ok(Secret {
        metadata: ObjectMeta {
            name: Some(format!("{name}-kubeconfig")),
            namespace: cluster.metadata.namespace.clone(),
            labels: Some([(CLUSTER_NAME.to_owned(), name)].into()),
            owner_references: Some(vec![owners::reference(cluster, &())]),
            ..ObjectMeta::default()
        },
        type_: Some(SECRET_TYPE.to_owned()),
        data: Some([("value".to_owned(), ByteString(yaml.into_bytes()))].into()),
        ..Secret::default()
    })
}
