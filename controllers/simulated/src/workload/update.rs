//! Changes the version of a machine that runs.

use serde_json::{Value, json};

use super::api::Place;
use super::part::Part;
use super::{CONTROL_PLANE_PODS, Error, Workload, objects};
use crate::names::KUBE_SYSTEM;

impl Workload {
    /// Brings a part of a machine to a Kubernetes version, as `kubeadm upgrade` does. A part that has it stays as it is.
    ///
    /// # Errors
    /// Returns the refusals of the cluster's API.
    pub async fn update(&self, host: &str, part: Part, version: &str) -> Result<(), Error> {
        match part {
            Part::Vm => Ok(()),
            Part::Node => {
                let info = json!({"status": {"nodeInfo": {"kubeletVersion": version}}});
                Ok(self.api.merge_status(Place::node(host), info).await?)
            }
            Part::Etcd => {
                let configuration = self.api.get(Place::KUBEADM_CONFIG).await.unwrap_or_default();
                self.restart(&format!("etcd-{host}"), &objects::etcd_image(&configuration)).await
            }
            Part::ApiServer => {
                for component in CONTROL_PLANE_PODS {
                    let image = objects::image(component, version);
                    self.restart(&format!("{component}-{host}"), &image).await?;
                }
                Ok(())
            }
        }
    }

    /// Lets the container of a static Pod run another image.
    async fn restart(&self, pod: &str, image: &str) -> Result<(), Error> {
        let place = Place::pod(KUBE_SYSTEM, pod);
        let missing = || Error::Start(format!("there is no Pod {pod}"));
        let present = self.api.get(place).await.ok_or_else(missing)?;
        if present["spec"]["containers"][0]["image"] == image {
            return Ok(());
        }
        let with_image = |mut containers: Value| {
            containers[0]["image"] = image.into();
            containers
        };
        let containers = with_image(present["spec"]["containers"].clone());
        self.api.merge(place, json!({"spec": {"containers": containers}})).await?;
        let mut statuses = with_image(present["status"]["containerStatuses"].clone());
        statuses[0]["restartCount"] = (statuses[0]["restartCount"].as_i64().unwrap_or(0) + 1).into();
        Ok(self.api.merge_status(place, json!({"status": {"containerStatuses": statuses}})).await?)
    }
}
