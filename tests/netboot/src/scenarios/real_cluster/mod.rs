//! A cluster with the real programs of Kubernetes, on machines that are switched off at the beginning, which then runs itself.

mod pivot;
mod run;
mod workload;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use machinery::clock::Clock;
use serde_json::Value;

use self::pivot::pivot;
use self::run::Run;
use self::workload::Workload;
use super::redfish;
use crate::assets::assets;
use crate::images::{self, Image};
use crate::lab::{Lab, run as execute};
use crate::machine::{Design, Firmware};
use crate::scenario::{IPXE, NAMESPACE, Scenario};
use crate::server::{Server, binary};

/// The manifests.
const MANIFESTS: [&str; 4] = ["hosts.yaml", "cluster.yaml", "control-plane.yaml", "workers.yaml"];
/// Addresses of the manifests, and those of the lab. The first is that of the services, which moves into the cluster; the lab's own stays,
/// because the BMCs have it.
const ADDRESSES: [(&str, &str); 2] = [("10.0.0.1:", "10.77.0.5:"), ("10.0.0.", "10.77.0.")];
/// The address of the services.
const SERVICES: &str = "10.77.0.5";
/// Limit from power-off to the cluster, on a machine that does something else as well.
const CLUSTER: Duration = Duration::from_secs(40 * 60);
/// Limit for each thing that the cluster does then.
const STEP: Duration = Duration::from_secs(600);
/// The options of the server.
const OPTIONS: [&str; 6] = [
    "--netboot-address",
    "10.77.0.5/24",
    // Of the agent, which runs on the same two processors.
    "--netboot-kernel-arguments",
    "tsc=reliable",
    "--netboot-subnet",
    "10.77.0.0/24,router=10.77.0.1,dns=10.77.0.1,pool=10.77.0.100-10.77.0.200",
];

/// Power off -> inspection -> a control plane and a worker with kubeadm -> a pod on the worker resolves a name and answers -> the pivot into
/// this cluster, where firstlight runs as a pod -> it adds a third machine, and removes the second.
pub async fn real_cluster() -> Result<()> {
    let lab = Lab::new().await?;
    let folder = lab.file("images");
    std::fs::create_dir(&folder)?;
    let image = images::node(&folder).await?;
    let bundle = site_bundle(&lab, &image).await?;
    let options: Vec<&str> = OPTIONS.into_iter().chain(["--bundle", &bundle]).collect();
    let server = Server::start_at(&lab, SERVICES.parse()?, &[], &options).await?;
    let scenario = Scenario { lab, server };
    let mut machines = Vec::new();
    let mut hosts = Vec::new();
    for number in 0..3 {
        let (machine, _, host) = redfish::described(&scenario, design(number)).await?;
        machines.push(machine);
        hosts.push(host);
    }
    let objects = manifests(&image, &hosts)?;
    let run = Run { scenario, machines, start: Clock::system().monotonic() };
    for object in &objects {
        run.scenario.server.apply(object).await?;
    }
    run.is_provisioned("host-0").await?;
    run.has("KubeadmControlPlane", "first-control-plane", "Initialized", CLUSTER).await?;
    run.is_provisioned("host-1").await?;
    run.has("Cluster", "first", "Available", CLUSTER).await?;
    run.machines_run().await?;
    let workload = Workload::connect(&run).await?;
    workload.node_is_ready("host-0").await?;
    workload.node_is_ready("host-1").await?;
    workload.name_service_runs().await?;
    workload.pod_answers().await?;
    pivot(&run, &workload, &hosts[2]).await
}

fn design(number: u8) -> Design {
    Design { processors: 2, memory: 2560, ..Scenario::design(number, Firmware::Bios) }
}

/// Makes the bundle of the site: boot files, the disk image, and the program. Returns its path.
async fn site_bundle(lab: &Lab, image: &Image) -> Result<String> {
    let text = |path: &Path| Ok::<_, anyhow::Error>(path.to_str().context("a path that is text")?.to_owned());
    let (bundle, image, kernel) = (text(&lab.file("site.bundle"))?, text(&image.path)?, text(&assets())?);
    execute(
        &binary()?,
        &["bundle", "create", &bundle, "--kernel", &kernel, "--kernel", IPXE, "--image", &image],
    )
    .await?;
    std::fs::remove_file(&image)?;
    Ok(bundle)
}

/// Returns the objects of the example, with the lab's addresses, image and BMCs.
fn manifests(image: &Image, hosts: &[Value]) -> Result<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bare-metal/cluster");
    let mut objects = Vec::new();
    for name in MANIFESTS {
        let mut text = std::fs::read_to_string(folder.join(name)).with_context(|| name.to_owned())?;
        for (theirs, ours) in ADDRESSES {
            text = text.replace(theirs, ours);
        }
        for (_, document) in machinery::decode::yaml_documents(&text).map_err(anyhow::Error::msg)? {
            let mut object = document.value;
            object["metadata"]["namespace"] = NAMESPACE.into();
            if let Some(spec) = object.pointer_mut("/spec/template/spec/image") {
                spec["checksum"] = image.checksum.clone().into();
            }
            if object["kind"] == "BareMetalHost" {
                let number = objects.iter().filter(|known: &&Value| known["kind"] == "BareMetalHost").count();
                object["spec"]["bmc"] =
                    hosts.get(number).context("a BMC for each host")?["spec"]["bmc"].clone();
            }
            objects.push(object);
        }
    }
    Ok(objects)
}
