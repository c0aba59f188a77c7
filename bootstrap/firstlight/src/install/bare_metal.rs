//! The services that boot machines, in the Pod of the cluster that takes them over.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use pki::Identity;
use serde_json::{Value, json};
use server::certificates::read_identity;
use server::data_directory::DataDirectory;
use server::installed::NAMESPACE;
use server::netboot::{AUTHORITY, BareMetal};

use super::manifests::labels;

/// The data directory of the Pod, on its node.
const DATA: &str = "/var/lib/firstlight";
/// The folder of the authority in the Pod.
const PKI: &str = "/etc/firstlight/netboot-ca";
/// The Secret with the authority.
const SECRET: &str = "firstlight-netboot-ca";

/// Returns the path of a bundle in the Pod.
pub fn in_pod(bundle: &Path) -> Result<String> {
    let name = bundle.file_name().and_then(|name| name.to_str());
    Ok(format!("{DATA}/bundles/{}", name.with_context(|| bundle.display().to_string())?))
}

/// The services to install, with the key of their authority.
pub struct Installation {
    /// The arguments of the Pod's program.
    pub arguments: Vec<String>,
    /// The address at which machines reach the server.
    pub server: String,
    /// The paths of the bundles in the Pod.
    pub bundles: Vec<String>,
    /// The certificate authority that hosts trust.
    pub authority: Identity,
    /// What stays at the server, a line for each thing.
    pub left_behind: Vec<String>,
}

impl Installation {
    /// Returns the services of the server that runs on the data directory `folder`; `None` if it boots no machines.
    ///
    /// # Errors
    /// A cluster cannot take the services over; the message says how it can.
    pub fn of_server(folder: &Path) -> Result<Option<Self>> {
        let directory = DataDirectory::locate(Some(folder))?;
        let services = directory.running()?.and_then(|running| running.bare_metal);
        services.map(|services| Self::of(&services, &directory)).transpose()
    }

    /// Returns the given services with the authority in a data directory.
    pub fn of(services: &BareMetal, directory: &DataDirectory) -> Result<Self> {
        let server = services.server.clone().context(
            "the services that boot machines have no address that can move into the cluster: start the server with \
             --netboot-address ADDRESS/BITS. To keep the address that machines know, remove it from the configuration of the interface \
             before: the server adds it while it runs",
        )?;
        ensure!(
            !services.bundles.is_empty(),
            "the server has no bundle, so the cluster would have no boot files and no image of this program: make one with \
             `firstlight bundle create`, and start the server with --bundle"
        );
        let folder = directory.pki();
        let Some(authority) = read_identity(&folder, AUTHORITY)? else {
            bail!("{}/{AUTHORITY}.key is missing, which hosts trust", folder.display());
        };
        let bundles = services.bundles.iter().map(|path| in_pod(path)).collect::<Result<Vec<_>>>()?;
        ensure!(
            bundles.iter().collect::<BTreeSet<_>>().len() == bundles.len(),
            "two bundles of the server have the same file name, by which the cluster fetches them: rename one of them"
        );
        let (arguments, left_behind) = (services.arguments.clone(), services.left_behind());
        Ok(Self { arguments, server, bundles, authority, left_behind })
    }

    /// Returns what people must know when the installation is done.
    pub fn notice(&self) -> String {
        let left: String = self.left_behind.iter().map(|what| format!("Not moved: {what}.\n")).collect();
        format!("{left}The services that boot machines have been installed.\n")
    }

    /// Returns the Secret with the authority, under which hosts and nodes know this server.
    pub(super) fn secret(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": NAMESPACE, "labels": labels()},
            "stringData": {
                format!("{AUTHORITY}.crt"): self.authority.certificate,
                format!("{AUTHORITY}.key"): self.authority.key,
            },
        })
    }

    /// Changes the Pod of the controllers: it is on the network of its node, on a node of the control plane, has the bundles and the
    /// authority, and may take addresses, low ports and raw sockets, but nothing else that root may.
    pub(super) fn extend(&self, pod: &mut Value) {
        let image = pod["containers"][0]["image"].clone();
        let mounts = json!([
            {"name": "data", "mountPath": DATA},
            {"name": "authority", "mountPath": PKI, "readOnly": true},
            {"name": "temporary", "mountPath": "/tmp"},
        ]);
        let nothing = json!({
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true,
        });
        let fetch = |bundle: &String| {
            let name = Path::new(bundle).file_stem().map(|name| name.to_string_lossy().to_lowercase());
            let name = name.unwrap_or_default().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            json!({
                "name": format!("fetch-{}", name.trim_matches('-')),
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "args": ["bundle", "fetch", bundle, "--from", self.server, "--netboot-authority", PKI],
                "volumeMounts": mounts,
                "securityContext": nothing,
            })
        };
        let fetching: Vec<Value> = self.bundles.iter().map(fetch).collect();
        let container = &mut pod["containers"][0];
        container["volumeMounts"] = mounts.clone();
        container["securityContext"] = nothing.clone();
        container["securityContext"]["capabilities"]["add"] =
            json!(["NET_ADMIN", "NET_BIND_SERVICE", "NET_RAW"]);
        let own = [format!("--data-dir={DATA}"), format!("--netboot-authority={PKI}")];
        let bundles = self.bundles.iter().map(|bundle| format!("--bundle={bundle}"));
        let arguments = self.arguments.iter().cloned().chain(own).chain(bundles).map(Value::from);
        if let Some(all) = container["args"].as_array_mut() {
            all.extend(arguments);
        }
        pod["initContainers"] = fetching.into();
        pod["hostNetwork"] = true.into();
        pod["dnsPolicy"] = "ClusterFirstWithHostNet".into();
        pod["nodeSelector"] = json!({"node-role.kubernetes.io/control-plane": ""});
        pod["securityContext"] = json!({"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}});
        pod["volumes"] = json!([
            {"name": "data", "hostPath": {"path": DATA, "type": "DirectoryOrCreate"}},
            {"name": "authority", "secret": {"secretName": SECRET, "defaultMode": 0o400}},
            {"name": "temporary", "emptyDir": {}},
        ]);
    }
}
