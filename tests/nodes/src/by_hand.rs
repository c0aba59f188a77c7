//! The peer of the figures: `kubeadm init` and `kubeadm join`, typed by hand in the same containers with the same images. Nobody who types could
//! be faster: each command is given as soon as the one before is done, to one node after the other.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use container_images::{Client, Credentials, Hosts, Registries, Sources};
use futures::future::try_join_all;
use machinery::clock::Clock;
use machinery::random::Random;
use node_images::NodeImages;
use node_runtime::supervisor::no_steps;
use node_runtime::{LinuxRuntime, Options};
use system_containers::{Image, Images as _, Runtime as _, Spec};

use crate::images::Images;
use crate::kubectl::Kubectl;
use crate::machine::Machine;
use crate::run::until;
use crate::stage::STATE;
use crate::steps::Steps;
use crate::workload;

/// The nodes of a cluster.
struct Size {
    /// As the figures call it.
    name: &'static str,
    planes: &'static [&'static str],
    workers: &'static [&'static str],
}

const ONE: Size = Size { name: "1 + 1", planes: &["plane"], workers: &["worker"] };
const THREE: Size = Size {
    name: "3 + 3",
    planes: &["plane", "plane-2", "plane-3"],
    workers: &["worker", "worker-2", "worker-3"],
};
/// The longest time of each step.
const STEP: Duration = Duration::from_secs(180);
/// The token with which nodes join, and the key of the certificates that control planes share. The cluster has nothing that they would protect.
const TOKEN: &str = "abcdef.0123456789abcdef";
const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The file that puts Pods on a bridge, and the ranges of Pods and of Services in it (docs/nodes.md).
const PODS_NETWORK: &str = "/etc/default/pods-network";
const RANGES: &str = "PODS=10.244.0.0/16\nSERVICES=10.96.0.0/12\n";

/// A command of kubeadm, without its verb.
const KUBEADM: [&str; 4] =
    ["kubeadm", "--config", "/dev/stdin", "--ignore-preflight-errors=SystemVerification"];

/// What `kubeadm init` is told, and what it passes on to kubelets and to kube-proxy in a container.
const INIT: &str = r"
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens: [{token: TOKEN}]
certificateKey: KEY
nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock, imagePullPolicy: Never}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: VERSION
controlPlaneEndpoint: ADDRESS:6443
networking: {podSubnet: 10.244.0.0/16}
encryptionAlgorithm: ECDSA-P256
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: systemd
imageGCHighThresholdPercent: 100
evictionHard: {nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%}
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0}
";

/// What `kubeadm join` is told.
const JOIN: &str = r"
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock, imagePullPolicy: Never}
discovery: {bootstrapToken: {apiServerEndpoint: ADDRESS:6443, token: TOKEN, unsafeSkipCAVerification: true}}
";
/// What a further control plane is told besides.
const JOIN_PLANE: &str = "controlPlane: {certificateKey: KEY}\n";

/// Brings up a control plane and a worker, and takes everything away again.
///
/// # Errors
/// A step fails; the error has what the nodes say. Or the machine is not as before.
pub async fn run(images: &Images, folder: &Path) -> Result<()> {
    bring_up(images, folder, ONE).await
}

/// The same with three of each.
///
/// # Errors
/// Those of [`run`].
pub async fn run_three(images: &Images, folder: &Path) -> Result<()> {
    bring_up(images, folder, THREE).await
}

async fn bring_up(images: &Images, folder: &Path, size: Size) -> Result<()> {
    let (clock, random) = (Clock::system(), Random::system());
    let options = Options { data: folder.join("data"), range: None, clock, random, steps: no_steps };
    let image = unpack(images, folder).await?;
    let hand = Hand { runtime: LinuxRuntime::open(options).await?, images, image, folder, size };
    let before = Machine::look(images, folder).await?;
    let steps = Steps::new("by-hand");
    if let Err(error) = hand.play(&steps).await {
        return Err(anyhow!("{error:#}\n{}", hand.explained().await));
    }
    for node in hand.nodes() {
        hand.runtime.remove(node).await?;
    }
    steps.done("all nodes removed")?;
    before.is(&Machine::look(images, folder).await?)
}

struct Hand<'a> {
    runtime: LinuxRuntime,
    images: &'a Images,
    image: Image,
    folder: &'a Path,
    size: Size,
}

/// Unpacks the image of the nodes, before the time counts.
async fn unpack(images: &Images, folder: &Path) -> Result<Image> {
    let clock = Clock::system();
    let client = Client::new(Hosts::default(), clock.clone());
    let options = node_images::Options {
        data: folder.join("images"),
        sources: Sources::new(vec![images.node(images.older())]),
        registries: Arc::new(Registries::new(client)),
        credentials: Credentials::default(),
        clock,
    };
    NodeImages::open(options)?.find(&format!("kindest/node:{}", images.older()), &|_| ()).await
}

impl Hand<'_> {
    async fn play(&self, steps: &Steps) -> Result<()> {
        self.start_all(steps).await?;
        self.kubeadm(steps).await?;
        let kubectl = self.kubectl().await?;
        kubectl.wait("wait node --all --for=condition=Ready", STEP).await?;
        steps.done("all Nodes Ready")?;
        kubectl.wait("--namespace kube-system rollout status deployment/coredns", STEP).await?;
        steps.done("CoreDNS 2/2")?;
        let (size, seconds) = (self.size.name, steps.seconds());
        writeln!(
            std::io::stdout(),
            "figure: nodes: by hand, from nothing to {size} Ready and CoreDNS 2/2: {seconds:.1} s"
        )?;
        kubectl.wait("--namespace kube-system rollout status daemonset/kube-proxy", STEP).await?;
        let web = std::fs::read(self.images.web())?;
        let nodes: Vec<&str> = self.nodes().collect();
        for node in &nodes {
            self.exec(node, &["ctr", "--namespace", "k8s.io", "images", "import", "-"], &web).await?;
        }
        steps.done("kube-proxy on all, the image loaded")?;
        workload::answers(&kubectl, &nodes, async |node: &str, command: &[&str]| {
            self.exec(node, command, b"").await
        })
        .await?;
        steps.done("a Deployment answers through its Service, and by name")
    }

    /// Returns the nodes, the first control plane first.
    fn nodes(&self) -> impl Iterator<Item = &'static str> {
        self.size.planes.iter().chain(self.size.workers).copied()
    }

    async fn start_all(&self, steps: &Steps) -> Result<()> {
        try_join_all(self.nodes().map(|node| self.start(node))).await?;
        steps.done("all nodes started")?;
        try_join_all(self.nodes().map(|node| self.is_ready(node))).await?;
        steps.done("containerd answers in all")
    }

    async fn kubeadm(&self, steps: &Steps) -> Result<()> {
        let first = self.size.planes.first().context("a control plane")?;
        let address = self.address(first).await?;
        let filled = |text: &str| {
            let text = text.replace("TOKEN", TOKEN).replace("KEY", KEY).replace("ADDRESS", &address);
            text.replace("VERSION", self.images.older())
        };
        let mut init = KUBEADM.to_vec();
        init.insert(1, "init");
        // Only further control planes need the certificates.
        init.extend((self.size.planes.len() > 1).then_some("--upload-certs"));
        self.exec(first, &init, filled(INIT).as_bytes()).await?;
        steps.done("kubeadm init")?;
        let mut join = KUBEADM.to_vec();
        join.insert(1, "join");
        let planes = self.size.planes.iter().skip(1).map(|node| (node, JOIN_PLANE));
        for (node, role) in planes.chain(self.size.workers.iter().map(|node| (node, ""))) {
            self.exec(node, &join, filled(&format!("{JOIN}{role}")).as_bytes()).await?;
            steps.done(&format!("kubeadm join in {node}"))?;
        }
        Ok(())
    }

    async fn start(&self, name: &str) -> Result<()> {
        self.runtime.create(&Spec::of(name, &self.image)).await?;
        self.runtime.start(name).await?;
        self.exec(name, &["tee", PODS_NETWORK], RANGES.as_bytes()).await.map(drop)
    }

    async fn address(&self, name: &str) -> Result<String> {
        let found = self.runtime.inspect(name).await?.with_context(|| format!("{name} is gone"))?;
        Ok(found.address.to_string())
    }

    async fn is_ready(&self, node: &str) -> Result<()> {
        let line = "systemctl --quiet is-active multi-user.target && crictl ps";
        let what = format!("containerd answers in {node}");
        until(&what, STEP, async || self.exec(node, &["sh", "-c", line], b"").await).await.map(drop)
    }

    /// Runs a command in a node.
    async fn exec(&self, node: &str, command: &[&str], input: &[u8]) -> Result<String> {
        let captured = system_containers::run(&self.runtime, node, command, input, STEP).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, error) = (text(&captured.stdout), text(&captured.stderr));
        if !captured.is_success() {
            bail!("{node}: {} ends with {:?}\n{out}{error}", command.join(" "), captured.exit);
        }
        Ok(out)
    }

    async fn kubectl(&self) -> Result<Kubectl> {
        let first = self.size.planes.first().context("a control plane")?;
        let text = self.exec(first, &["cat", "/etc/kubernetes/admin.conf"], b"").await?;
        ensure!(text.contains("server:"), "a kubeconfig: {text}");
        let path = self.folder.join("kubeconfig");
        std::fs::write(&path, text)?;
        Ok(Kubectl::new(&self.images.kubectl(), &path))
    }

    /// Returns what the nodes say of themselves.
    async fn explained(&self) -> String {
        let mut text = String::new();
        if let Ok(kubectl) = self.kubectl().await {
            for words in ["get nodes,pods -A -o wide", "describe nodes", "describe pods -A"] {
                text += &kubectl.explain(words).await;
            }
        }
        for node in self.nodes() {
            let console = self.runtime.console(node, 4096).await.unwrap_or_default();
            text += &format!("--- console of {node}\n{}\n", String::from_utf8_lossy(&console));
            let state = self.exec(node, &["sh", "-c", STATE], b"").await;
            text += &state.unwrap_or_else(|error| format!("{error:#}"));
        }
        text
    }
}
