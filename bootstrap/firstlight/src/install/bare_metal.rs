//! The services that boot machines, in the Pod of the cluster that takes them over.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use pki::Identity;
use serde_json::{Value, json};

use super::manifests::{NAMESPACE, labels};
use crate::certificates::read_identity;
use crate::data_directory::DataDirectory;
use crate::netboot::{AUTHORITY, BareMetal};

/// The data directory of the Pod, on its node.
const DATA: &str = "/var/lib/firstlight";
/// The folder of the authority in the Pod.
const PKI: &str = "/etc/firstlight/netboot-ca";
/// The Secret with the authority.
const SECRET: &str = "firstlight-netboot-ca";

/// Returns the path of a bundle in the Pod.
fn in_pod(bundle: &Path) -> Result<String> {
    let name = bundle.file_name().and_then(|name| name.to_str());
    Ok(format!("{DATA}/bundles/{}", name.with_context(|| bundle.display().to_string())?))
}

/// The services to install, with the key of their authority.
pub struct Installation {
    arguments: Vec<String>,
    server: String,
    /// The paths of the bundles in the Pod.
    bundles: Vec<String>,
    authority: Identity,
    /// What stays at the server, a line for each thing.
    left_behind: Vec<String>,
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
    fn of(services: &BareMetal, directory: &DataDirectory) -> Result<Self> {
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::controllers::Selection;
    use crate::data_directory::write_private;
    use crate::install::{carried_over, owned};
    use crate::netboot::NetbootOptions;

    fn services(address: Option<&str>, bundles: &[&str]) -> NetbootOptions {
        NetbootOptions {
            interfaces: vec!["eth1".into()],
            address: address.map(|text| text.parse().unwrap()),
            bundles: bundles.iter().map(PathBuf::from).collect(),
            images: Some("/srv/images".into()),
            https_port: 8443,
            ..NetbootOptions::default()
        }
    }

    #[test]
    fn what_cannot_move_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDirectory::locate(Some(folder.path())).unwrap();
        directory.create().unwrap();
        let installation = |options: &NetbootOptions| {
            let installation = Installation::of(&BareMetal::of(options).unwrap(), &directory);
            installation.err().map_or(String::new(), |error| format!("{error:#}"))
        };
        assert!(BareMetal::of(&NetbootOptions::default()).is_none());
        assert!(installation(&services(None, &["a.bundle"])).contains("--netboot-address"));
        assert!(installation(&services(Some("10.0.0.1/24"), &[])).contains("firstlight bundle create"));
        let whole = services(Some("10.0.0.1/24"), &["a.bundle"]);
        assert!(installation(&whole).contains("netboot-ca.key is missing"));
        for end in ["crt", "key"] {
            write_private(&directory.pki().join(format!("{AUTHORITY}.{end}")), end.as_bytes()).unwrap();
        }
        assert_eq!(installation(&whole), "");
        let twins = services(Some("10.0.0.1/24"), &["a/site.bundle", "b/site.bundle"]);
        assert!(installation(&twins).contains("same file name"));
        let left = BareMetal::of(&whole).unwrap().left_behind();
        assert_eq!(left, ["the images in /srv/images, which no bundle has"]);
    }

    #[test]
    fn the_pod_has_the_network_of_its_node_and_no_more_privileges_than_it_needs() {
        let authority = Identity { certificate: "certificate".into(), key: "private key".into() };
        let installation = Installation {
            arguments: vec!["--netboot-address=10.0.0.1/24".into()],
            server: "https://10.0.0.1:8443".into(),
            bundles: vec![in_pod(Path::new("/srv/My Site_1.bundle")).unwrap()],
            authority,
            left_behind: Vec::new(),
        };
        let objects = owned("image:v1", &carried_over(Selection::all(), true), Some(&installation)).unwrap();
        assert_eq!(objects[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
        assert_eq!(objects[1]["stringData"]["netboot-ca.key"], "private key");
        assert!(objects[2..].iter().all(|object| !object.to_string().contains("private key")));
        let pod = &objects.last().unwrap()["spec"]["template"]["spec"];
        let controllers = &pod["containers"][0];
        let arguments: Vec<&str> =
            controllers["args"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
        assert!(
            arguments.contains(&"--bundle=/var/lib/firstlight/bundles/My Site_1.bundle"),
            "{arguments:?}"
        );
        assert!(
            arguments.contains(
                &"--controllers=core,kubeadm-bootstrap,kubeadm-control-plane,addons,ipam,simulated,metal"
            ),
            "{arguments:?}"
        );
        assert!(arguments.contains(&"--diagnostics-address=:9441"), "{arguments:?}");
        assert_eq!(pod["initContainers"][0]["name"], "fetch-my-site-1");
        assert_eq!(controllers["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
        assert_eq!(pod["initContainers"][0]["securityContext"]["capabilities"]["add"], Value::Null);
        assert_eq!(pod["hostNetwork"], true);
    }
}
