//! Limits of memory and CPU, and the control groups that keep them.

use std::path::PathBuf;

use super::*;

impl Machine {
    /// Returns the control groups of the server's containers.
    fn groups(&self) -> Vec<PathBuf> {
        fn find(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let own = entry.file_name().to_string_lossy().into_owned();
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                } else if own.starts_with(name) && !own.ends_with("-server") {
                    found.push(entry.path());
                } else {
                    find(&entry.path(), name, found);
                }
            }
        }
        let mut found = Vec::new();
        find(Path::new("/sys/fs/cgroup"), &format!("firstlight-{}-", self.server.id().unwrap()), &mut found);
        found
    }

    /// Returns whether this machine allows limits, which the server says otherwise.
    fn has_limits(&self) -> bool {
        let may_not = self.server.log().contains("limits of memory and CPU of Pods are not kept");
        assert!(!may_not || std::env::var_os("CI").is_none(), "this test needs control groups");
        !may_not
    }
}

#[tokio::test]
async fn a_container_keeps_its_limits() {
    let machine = Machine::start().await;
    let limits = json!({"container": {"resources": {"limits": {"memory": "48Mi", "cpu": "250m"}}}});
    machine.deploy("hungry", "x=0123456789abcdef; while true; do x=$x$x; done", limits.clone()).await;
    machine.deploy("modest", "echo here; while true; do sleep 1; done", limits).await;
    let modest = machine.pod("modest", "ready", is_ready).await;
    machine.logged(&modest, "here").await;
    if !machine.has_limits() {
        return;
    }
    let quotas = || {
        let files = ["cpu.cfs_quota_us", "cpu.max"];
        let texts = machine
            .groups()
            .into_iter()
            .flat_map(|group| files.map(|file| std::fs::read_to_string(group.join(file))));
        texts.flatten().collect::<Vec<_>>()
    };
    assert!(quotas().iter().any(|quota| quota.starts_with("25000")), "{:?}", quotas());
    let last = |pod: &Pod| {
        let status = container(pod);
        let state = [&status["state"]["terminated"], &status["lastState"]["terminated"]];
        state.into_iter().find(|state| !state.is_null()).cloned().unwrap_or_default()
    };
    let hungry = machine.pod("hungry", "out of memory", |pod| last(pod)["reason"] == "OOMKilled").await;
    assert_eq!(last(&hungry)["exitCode"], 137);
    for name in ["hungry", "modest"] {
        machine.deployments().delete(name, &DeleteParams::default()).await.unwrap();
    }
    let removed = wait(async || Ok(machine.groups().is_empty().then_some(())));
    removed.await.unwrap_or_else(|error| panic!("{error}: {:?}", machine.groups()));
}
