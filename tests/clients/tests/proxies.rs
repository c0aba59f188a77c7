//! Commands of firstlight against a server that is another machine's to them, through real proxies: squid and tinyproxy.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which says why it skips")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clients::session::Tools;
use test_server::Server;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

const DEADLINE: Duration = Duration::from_secs(60);
/// The name of the server's machine, which only the proxies know.
const HOST: &str = "cluster.invalid";
/// squid asks it whether a user may enter, with a line of user and password.
const ASKED_BY_SQUID: &str =
    "#!/bin/sh\nwhile read -r line; do [ \"$line\" = 'user p@ss' ] && echo OK || echo ERR; done\n";

/// A proxy that runs, and what it has written about itself.
struct Proxy {
    child: Child,
    port: u16,
    log: PathBuf,
    /// The password that it wants, as part of an address.
    password: &'static str,
}

impl Proxy {
    /// Waits until the proxy listens.
    async fn started(mut child: Child, port: u16, log: PathBuf, password: &'static str) -> Self {
        let listens = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                assert!(child.try_wait().unwrap().is_none(), "{}", read(&log));
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, listens).await.unwrap();
        Self { child, port, log, password }
    }

    async fn squid(folder: &Path) -> Self {
        let (port, log) = (free_port().await, folder.join("squid.log"));
        let helper = folder.join("helper");
        std::fs::write(&helper, ASKED_BY_SQUID).unwrap();
        std::fs::write(folder.join("hosts"), format!("127.0.0.1 localhost {HOST}\n")).unwrap();
        let at = |name: &str| folder.join(name).display().to_string();
        let text = format!(
            "http_port 127.0.0.1:{port}\nhosts_file {}\npid_filename {}\naccess_log stdio:{}\ncache_log {}\ncoredump_dir {}\ncache deny all\n\
             auth_param basic program /bin/sh {}\nacl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all\nshutdown_lifetime 0 seconds\n",
            at("hosts"),
            at("squid.pid"),
            log.display(),
            at("cache.log"),
            at("."),
            helper.display(),
        );
        std::fs::write(folder.join("squid.conf"), text).unwrap();
        open_to_all(folder);
        let child = Command::new("squid")
            .args(["-N", "-f"])
            .arg(folder.join("squid.conf"))
            .kill_on_drop(true)
            .spawn();
        Self::started(child.unwrap(), port, log, "p%40ss").await
    }

    async fn tinyproxy(folder: &Path) -> Self {
        let (port, log) = (free_port().await, folder.join("tinyproxy.log"));
        let (hosts, config) = (folder.join("hosts"), folder.join("tinyproxy.conf"));
        std::fs::write(&hosts, format!("127.0.0.1 localhost {HOST}\n")).unwrap();
        let text = format!(
            "Port {port}\nListen 127.0.0.1\nLogFile \"{}\"\nLogLevel Info\nBasicAuth user word\nAllow 127.0.0.1\n",
            log.display()
        );
        std::fs::write(&config, text).unwrap();
        open_to_all(folder);
        // It asks the system for names, so it gets a file of names of its own.
        let script = "mount --bind \"$0\" /etc/hosts && exec tinyproxy -d -c \"$1\"";
        let mut command = Command::new("unshare");
        command
            .args(["-m", "sh", "-c", script])
            .arg(hosts)
            .arg(config)
            .kill_on_drop(true)
            .stdout(Stdio::null());
        Self::started(command.spawn().unwrap(), port, log, "word").await
    }
}

/// Both proxies become other users.
fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
}

async fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Runs a command with the kubeconfig through a proxy; returns whether it succeeded, and what it printed.
async fn run(tools: &Tools, kubeconfig: &Path, proxy: &str, without: &str) -> (bool, String) {
    let mut command = Command::new(&tools.firstlight);
    command.args(["upgrade", "plan", "--kubeconfig"]).arg(kubeconfig).kill_on_drop(true);
    command.env("HTTPS_PROXY", proxy).env("NO_PROXY", without).env_remove("https_proxy");
    let output = tokio::time::timeout(DEADLINE, command.output()).await.unwrap().unwrap();
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[tokio::test]
async fn real_proxies_carry_commands_to_another_machine() {
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&tools.firstlight, folder.path(), &["--controllers", "none"]).await.unwrap();
    let own = read(&server.kubeconfig());
    let (_, rest) = own.split_once("https://127.0.0.1:").unwrap();
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let far = format!("https://{HOST}:{port}\n    tls-server-name: localhost");
    let kubeconfig = folder.path().join("far");
    std::fs::write(&kubeconfig, own.replace(&format!("https://127.0.0.1:{port}"), &far)).unwrap();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for mut proxy in [Proxy::squid(folders[0].path()).await, Proxy::tinyproxy(folders[1].path()).await] {
        let url = |password: &str| format!("http://user:{password}@127.0.0.1:{}", proxy.port);
        let (succeeded, printed) = run(&tools, &kubeconfig, &url(proxy.password), "localhost").await;
        // There is no core provider without controllers, which only the server can know.
        assert!(
            !succeeded && printed.contains("there must be one core provider"),
            "{printed}{}",
            read(&proxy.log)
        );
        assert!(read(&proxy.log).contains(&format!("CONNECT {HOST}:{port}")), "{}", read(&proxy.log));
        let (_, printed) = run(&tools, &kubeconfig, &url("wrong"), "localhost").await;
        assert!(printed.contains("wants credentials"), "{printed}");
        let (_, printed) = run(&tools, &kubeconfig, &url(proxy.password), HOST).await;
        assert!(printed.contains(&format!("cannot resolve {HOST}")), "{printed}");
        let (_, printed) = run(&tools, &server.kubeconfig(), &url("wrong"), "").await;
        assert!(printed.contains("there must be one core provider"), "{printed}");
        proxy.child.kill().await.unwrap();
    }
}
