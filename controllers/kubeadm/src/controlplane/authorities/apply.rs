//! Creates and takes over the Secrets of a control plane: authorities, keys, the kubeconfig.

use engine::{NamespacedName, owners};
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;

use crate::certificates::{self, Purpose, Recipe};
use crate::controlplane::observe::ControlPlaneController;
use crate::controlplane::observed::Observed;
use crate::error::Result;

impl ControlPlaneController {
    pub(crate) async fn make_certificates(&self, observed: &Observed, missing: &[Purpose]) -> Result<()> {
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        let recipe = Recipe::of(&observed.cluster_configuration())?;
        for purpose in missing {
            let identity = crate::blocking::make(recipe, *purpose, &self.manager).await?;
            let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
            let secret = certificates::secret(&cluster.namespace, &cluster.name, *purpose, &identity, owner);
            self.secrets.create_if_absent(&secret).await?;
        }
        Ok(())
    }

    pub(crate) async fn own_secrets(&self, observed: &Observed, purposes: &[Purpose]) -> Result<()> {
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        for purpose in purposes {
            let name = NamespacedName::new(cluster.namespace.as_str(), purpose.secret_name(&cluster.name));
            self.own_secret(&name, &observed.control_plane).await?;
        }
        Ok(())
    }

    pub(crate) async fn own_secret(
        &self,
        name: &NamespacedName,
        control_plane: &KubeadmControlPlane,
    ) -> Result<()> {
        let Some(secret) = self.secrets.get(name) else { return Ok(()) };
        let mut wanted = secret.as_ref().clone();
        if let Some(other) = owners::controller(secret.as_ref()).cloned() {
            owners::remove(&mut wanted, &other);
        }
        owners::ensure(&mut wanted, owners::controller_reference(control_plane, &()));
        self.secrets.patch(&secret, &wanted, &[]).await?;
        Ok(())
    }

    pub(crate) async fn make_kubeconfig(&self, observed: &Observed) -> Result<()> {
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        let authority = self.authority(&cluster, Purpose::ClusterAuthority)?;
        let endpoint = crate::config::render::endpoint(&observed.cluster)?;
        let name = engine::clusters::kubeconfig_secret(&cluster);
        let existing = self.secrets.get(&name);
        let present = existing.as_ref().and_then(|secret| certificates::text(secret, "value"));
        let server = present.and_then(|text| pki::kubeconfig::Kubeconfig::parse(&text).ok());
        let server = server.map_or_else(|| format!("https://{endpoint}"), |config| config.server);
        let recipe = Recipe::of(&observed.cluster_configuration())?;
        let issued = crate::controlplane::kubeconfig::make(
            &cluster.name,
            &server,
            &authority,
            recipe.algorithm,
            &self.manager,
        )
        .await?;
        let data = json!({"value": k8s_openapi::ByteString(issued.clone().into_bytes())});
        match existing {
            Some(_) => drop(self.secrets.merge(&name, None, json!({"data": data})).await?),
            None => {
                let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
                let data = [("value".to_owned(), k8s_openapi::ByteString(issued.into_bytes()))];
                let secret = certificates::owned_secret(
                    &name.namespace,
                    &name.name,
                    &cluster.name,
                    data.into(),
                    owner,
                );
                self.secrets.create_if_absent(&secret).await?;
            }
        }
        Ok(())
    }
}
