//! A claim of the default StorageClass: what a Pod writes, the next Pod of the claim reads.

use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::kubectl::Kubectl;
use crate::stage::{CLUSTER, Stage};

/// The image of the Pods.
const IMAGE: &str = "docker.io/library/busybox:1.37";
/// The longest time until a Pod has ended, with its volume.
const POD: Duration = Duration::from_secs(60);

const CLAIM: &str = r"
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
";

const USER: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  restartPolicy: Never
  containers:
  - name: user
    image: IMAGE
    imagePullPolicy: Never
    command: [/bin/sh, -c, 'COMMAND']
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
";

/// Lets a Pod write a file, and another one of the same name read it. The claim stays: the cluster is deleted with it.
///
/// # Errors
/// A Pod does not succeed.
pub async fn run(stage: &Stage<'_>, cluster: &Kubectl) -> Result<()> {
    let archive = stage.folder.join("busybox.tar");
    node_programs::write_busybox(&archive)?;
    let archive = archive.to_str().context("a path that is text")?;
    let load = ["nodes", "load", IMAGE, "--container-images", archive, "--cluster", CLUSTER];
    stage.server.run(&load).await?;
    cluster.apply(CLAIM).await?;
    // An empty folder, and then the same folder.
    for command in
        ["test ! -e /data/file && echo kept > /data/file", r#"read text < /data/file && test "$text" = kept"#]
    {
        cluster.apply(&USER.replace("IMAGE", IMAGE).replace("COMMAND", command)).await?;
        cluster.wait("wait pod/user --for=jsonpath={.status.phase}=Succeeded", POD).await?;
        cluster.run("delete pod/user").await?;
    }
    Ok(())
}
