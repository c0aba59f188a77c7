//! Tests of `firstlight bundle`, and of a server that has its images, boot files and manifests from a bundle.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundle::{Additions, Bundle, Digest, FileKind, NewFile, list, verify};
use clap::Parser;
use firstlight::cli::{Cli, Command};
use firstlight::commands;
use firstlight::manifests::read::{Elsewhere, read_all, read_to_apply};
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use machinery::clock::Clock;
use server::image::{Entry, PROGRAM};
use server::netboot::{bundles, fetch};
use server::process::Process;
use tokio_rustls::TlsConnector;

use crate::place::options;

/// Runs `firstlight bundle ARGUMENTS`, and returns its error.
fn bundle(arguments: &[&str]) -> Result<(), String> {
    let arguments = ["firstlight", "bundle"].iter().chain(arguments);
    let Command::Bundle(command) = Cli::try_parse_from(arguments).unwrap().command else { panic!() };
    let run = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(commands::bundle::run(&command)).map_err(|error| format!("{error:#}"))
    });
    run.join().unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &[u8]) -> String {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), content).unwrap();
        self.text(name)
    }

    /// Writes an image whose program is a text, as `firstlight image` does.
    fn image(&self, name: &str, reference: &str) -> String {
        let source = self.write("program", b"the program").into();
        let mut archive = Vec::new();
        let entries = [Entry::File { path: PROGRAM.into(), source }];
        server::image::write(&mut archive, reference, &entries).unwrap();
        self.write(name, &archive)
    }
}

#[test]
fn a_bundle_is_made_extended_and_read() {
    let folder = Folder::new();
    let image = folder.image("a.tar", "registry.example/a/program:v1");
    let disk = folder.write("noble.raw", b"a disk");
    folder.write("cluster/b.yaml", b"apiVersion: v1\nkind: B\n");
    folder.write("cluster/a.yaml", b"apiVersion: v1\nkind: A\n");
    folder.write("cluster/readme.txt", b"no manifest");
    let (path, cluster) = (folder.text("site.bundle"), folder.text("cluster"));
    let create = ["create", &path, "--without-firstlight", "--image", &disk, "--manifest", &cluster];
    bundle(&create).unwrap();
    assert!(bundle(&create).unwrap_err().contains("exists: add to it with `firstlight bundle add"));
    bundle(&["add", &path, &image, &format!("registry.example/other:v2={image}")]).unwrap();
    assert!(bundle(&["add", &path]).unwrap_err().contains("nothing is added"));
    bundle(&["verify", &path]).unwrap();
    bundle(&["list", &path]).unwrap();
    bundle(&["list", &path, "-o", "json"]).unwrap();

    let opened = Bundle::open(Path::new(&path)).unwrap();
    let names: Vec<String> = list(&opened).unwrap().into_iter().map(|item| item.name).collect();
    let images = ["registry.example/a/program:v1", "registry.example/other:v2"];
    assert_eq!(names, [&images[..], &["noble.raw", "cluster/a.yaml", "cluster/b.yaml"]].concat());

    let catalogue = bundles::open(&[folder.path("site.bundle")]).unwrap();
    let bundled = catalogue.kubernetes_manifests().unwrap();
    let elsewhere = Elsewhere { bundled, ..Elsewhere::default() };
    let documents = read_to_apply(&["bundle:".into()], &elsewhere).unwrap();
    let found: Vec<(String, &str)> =
        documents.iter().map(|one| (one.file.clone(), one.object["kind"].as_str().unwrap())).collect();
    let expected = [("cluster/a.yaml", "A"), ("cluster/b.yaml", "B")];
    assert_eq!(found, expected.map(|(name, kind)| (format!("{path}:{name}"), kind)));
    let error = read_all(&["bundle:".into()]).unwrap_err().to_string();
    assert!(error.contains("name a bundle with manifests (--bundle)"), "{error}");
}

#[test]
fn what_cannot_be_bundled_is_said() {
    let folder = Folder::new();
    let path = folder.text("site.bundle");
    let broken = folder.write("broken.yaml", b"a: b: c\n");
    let text = folder
        .write("text", b"no archive, and no disk either, but a text of many blocks\n".repeat(400).as_slice());
    for (arguments, expected) in [
        (vec!["create", &path, "--without-firstlight"], "the bundle would be empty"),
        (vec!["create", &path, "--without-firstlight", "--manifest", &broken], "broken.yaml:1:"),
        (
            vec!["create", &path, "--without-firstlight", "--image", "/nonexistent"],
            "cannot read /nonexistent",
        ),
        (vec!["create", &path, "--without-firstlight", "--kernel", &text], "unpack a package first"),
        (vec!["create", &path, "--without-firstlight", &text], "no tar archive"),
        (vec!["create", &path, "--without-firstlight", &*format!("Upper={text}")], "no name of an image"),
        (vec!["add", &path, &text], "cannot be used"),
        (vec!["verify", &text], "it is no bundle, or it was cut off"),
        (vec!["list", &text], "it is no bundle, or it was cut off"),
    ] {
        let error = bundle(&arguments).unwrap_err();
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!Path::new(&path).exists());
    }
    let left = std::fs::read_dir(folder.0.path()).unwrap().count();
    assert_eq!(left, 2, "no temporary file is left");
}

/// Returns a kernel module without dependencies (an ELF file with the section `.modinfo`), for machines with aarch64.
fn module() -> Vec<u8> {
    let names = b"\0.modinfo\0";
    let mut file = vec![0; 64];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[18] = 183;
    file.extend(names);
    for name in [1_u32, 0] {
        let mut header = vec![0; 64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[0x18..0x20].copy_from_slice(&64_u64.to_le_bytes());
        let length = if name == 0 { names.len() as u64 } else { 0 };
        header[0x20..0x28].copy_from_slice(&length.to_le_bytes());
        file.extend(header);
    }
    file[0x28..0x30].copy_from_slice(&(64 + names.len() as u64).to_le_bytes());
    file[0x3a..0x3c].copy_from_slice(&64_u16.to_le_bytes());
    file[0x3c..0x3e].copy_from_slice(&2_u16.to_le_bytes());
    file[0x3e..0x40].copy_from_slice(&1_u16.to_le_bytes());
    file
}

/// Adds the boot files of a machine with another architecture than this one, for which nothing of this program is packed.
fn add_boot_files(folder: &Folder) {
    let contents = [
        ("aarch64/kernels/6.1.0/vmlinuz", b"kernel".to_vec()),
        ("aarch64/kernels/6.1.0/modules/kernel/drivers/ata/ahci.ko", module()),
        ("aarch64/firstlight-agent", b"agent".to_vec()),
    ];
    let file = |(title, content): (&str, Vec<u8>)| NewFile {
        kind: FileKind::Boot,
        title: title.into(),
        path: folder.write(&format!("boot/{title}"), &content).into(),
    };
    let files = contents.map(file).into();
    let path = folder.path("site.bundle");
    let old = Bundle::open(&path).unwrap();
    bundle::write(&path, Some(&old), &Additions { containers: vec![], files }).unwrap();
    assert!(verify(&Bundle::open(&path).unwrap()).unwrap().is_empty());
}

/// Sends a request to the registry as a node does, with the certificate that cloud-init gave to it.
async fn get(server: &str, authority: &str, path: &str) -> (u16, Vec<u8>) {
    let address = server.strip_prefix("https://").unwrap();
    let config = pki::tls::client_config(authority, None, &["http/1.1"], &Clock::system()).unwrap();
    let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(path).header("host", address).body(Empty::<bytes::Bytes>::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    (response.status().as_u16(), response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

/// Returns a port on which nobody listens at the moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server with the authority's key gets the bundle at `path`, and nobody else does.
async fn fetches(folder: &Folder, server: &str, path: &str) {
    let fetch = |to: &Path, pki: &Path| {
        let (server, to, pki) = (server.to_owned(), to.to_owned(), pki.to_owned());
        async move { fetch(&server, &pki, &to).await.map_err(|error| format!("{error:#}")) }
    };
    let name = Path::new(path).file_name().unwrap();
    let (to, pki) = (folder.0.path().join("fetched").join(name), folder.0.path().join("data/pki"));
    std::fs::create_dir(to.parent().unwrap()).unwrap();
    // An attempt that was interrupted goes on; one that received something else is noticed, and begins again.
    let content = std::fs::read(path).unwrap();
    std::fs::write(to.with_extension("part"), &content[..1000]).unwrap();
    fetch(&to, &pki).await.unwrap();
    assert!(std::fs::read(&to).unwrap() == content);
    std::fs::remove_file(&to).unwrap();
    std::fs::write(to.with_extension("part"), vec![1; 1000]).unwrap();
    fetch(&to, &pki).await.unwrap_err();
    fetch(&to, &pki).await.unwrap();
    let missing = fetch(&to.with_file_name("other.bundle"), &pki).await.unwrap_err();
    assert!(missing.contains("other.bundle cannot be fetched: the server answers 404"), "{missing}");
    // The certificate alone is what every machine has.
    let stranger = folder.0.path().join("stranger");
    std::fs::create_dir(&stranger).unwrap();
    std::fs::copy(pki.join("netboot-ca.crt"), stranger.join("netboot-ca.crt")).unwrap();
    let stranger = fetch(&to.with_file_name("stolen"), &stranger).await.unwrap_err();
    assert!(stranger.contains("netboot-ca"), "{stranger}");
    let certificate = std::fs::read_to_string(pki.join("netboot-ca.crt")).unwrap();
    let (status, _) = get(server, &certificate, &format!("/bundles/{}", name.to_string_lossy())).await;
    assert_eq!(status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_hosts_are_served_from_the_bundle() {
    let folder = Folder::new();
    let image = folder.image("a.tar", "registry.example/a/program:v1");
    let disk = folder.write("noble.raw", b"a disk");
    let path = folder.text("site.bundle");
    bundle(&["create", &path, "--without-firstlight", "--image", &disk, &image]).unwrap();
    add_boot_files(&folder);
    let (http, https) = (free_port().to_string(), free_port().to_string());
    let mut options = options(&folder.path("data"), "none", &[]);
    let netboot = [
        "firstlight",
        "serve",
        "--netboot-interface",
        "lo",
        "--netboot-dhcp",
        "off",
        "--bundle",
        &path,
        "--netboot-http-port",
        &http,
        "--netboot-https-port",
        &https,
    ];
    let Command::Serve(serve) = Cli::parse_from(netboot).command else { panic!() };
    options.netboot = serve.server.netboot;
    let process = Process::start(&options).await.unwrap_or_else(|error| panic!("{error:#}"));
    let server = format!("https://127.0.0.1:{https}");
    let authority = std::fs::read_to_string(folder.path("data/pki/netboot-ca.crt")).unwrap();
    let ask = |path: &str| {
        let (server, path) = (server.clone(), path.to_owned());
        let authority = authority.clone();
        async move { get(&server, &authority, &path).await }
    };
    let (status, manifest) = ask("/v2/a/program/manifests/v1?ns=registry.example").await;
    let document: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let layer = document["layers"][0]["digest"].as_str().unwrap();
    assert_eq!(status, 200);
    let (status, content) = ask(&format!("/v2/a/program/blobs/{layer}?ns=registry.example")).await;
    assert_eq!((status, Digest::of(&content).to_string().as_str()), (200, layer));
    assert_eq!(ask("/images/noble.raw").await, (200, b"a disk".to_vec()));
    assert_eq!(ask("/boot/kernel/aarch64").await, (200, b"kernel".to_vec()));
    fetches(&folder, &server, &path).await;
    let modified = || {
        folder
            .path("data/netboot/assets/aarch64/kernels/6.1.0/vmlinuz")
            .metadata()
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = modified();
    let released = process.released();
    process.stop().await;
    released.await;
    let process = Process::start(&options).await.unwrap();
    assert_eq!(modified(), before, "boot files that are there are not written again");
    process.stop().await;
}
