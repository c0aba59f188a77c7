//! A module from the Go proxy in its own folder, and its test programs.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::list::{Rendered, Suite};

/// Limits for the tests of a package, as Go's and as ginkgo's flag. ginkgo's is shorter, since it ends in an
/// orderly way and stops the servers that it started.
const GO_TIMEOUT: &str = "-test.timeout=20m";
const GINKGO_TIMEOUT: &str = "--ginkgo.timeout=15m";

/// The results of a package's tests.
#[derive(Debug)]
pub struct Run {
    /// Whether the program exited with 0.
    pub success: bool,
    /// The program's output.
    pub log: PathBuf,
    /// ginkgo's report, if the package has specs.
    pub report: Option<PathBuf>,
}

/// A writable copy of a module, with test programs built in it.
#[derive(Debug)]
pub struct Module {
    folder: PathBuf,
    work: PathBuf,
}

impl Module {
    /// Downloads the module of `suite` to `tools` and renders its manifests with the kubectl of `tools`, unless it is already there.
    ///
    /// # Errors
    /// Fails if Go cannot download it, or a kustomization is wrong.
    pub fn fetch(tools: &Path, suite: &Suite) -> Result<Self> {
        let folder = tools.join("suites").join(format!("{}-{}", suite.name, suite.version));
        let module = Self { work: folder.join("work"), folder: folder.join("module") };
        if module.work.exists() {
            return Ok(module);
        }
        let wanted = format!("{}@{}", suite.module, suite.version);
        let output = Command::new("go").args(["mod", "download", "-json", &wanted]).output().context("go")?;
        let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{wanted}: {}{errors}", printed["Error"]);
        let cached = printed["Dir"].as_str().context("go mod download names no folder")?;
        copy(Path::new(cached), &module.folder).with_context(|| wanted)?;
        for rendered in &suite.rendered {
            module.render(&tools.join("kubectl"), rendered)?;
        }
        fs::create_dir_all(&module.work)?;
        Ok(module)
    }

    fn render(&self, kubectl: &Path, Rendered { from, to }: &Rendered) -> Result<()> {
        let to = self.folder.join(to);
        fs::create_dir_all(to.parent().context("a file in a folder")?)?;
        let file = File::create(&to).with_context(|| to.display().to_string())?;
        let mut kustomize = Command::new(kubectl);
        let status = kustomize.arg("kustomize").arg(self.folder.join(from)).stdout(file).status()?;
        ensure!(status.success(), "kubectl kustomize {from}");
        Ok(())
    }

    /// Builds the test program of a package, unless it exists.
    ///
    /// # Errors
    /// Fails if the program does not build.
    pub fn build(&self, package: &str) -> Result<()> {
        let program = self.file(package, "test");
        if program.exists() {
            return Ok(());
        }
        let new = self.file(package, "test.new");
        let status = Command::new("go")
            .args(["test", "-c", "-vet=off", "-ldflags=-s -w", "-o"])
            .arg(&new)
            .arg(if package == "." { package.to_owned() } else { format!("./{package}") })
            .current_dir(&self.folder)
            .env("GOWORK", "off")
            .status()
            .context("go")?;
        ensure!(status.success(), "the tests of {package} do not build");
        Ok(fs::rename(new, program)?)
    }

    /// Runs the tests of a package with the programs of `assets`; `server` is part of the names of the result
    /// files.
    ///
    /// # Errors
    /// Fails if the program does not start.
    pub fn run(&self, package: &str, server: &str, assets: &Path) -> Result<Run> {
        let log = self.file(package, &format!("{server}.log"));
        let report = self.file(package, &format!("{server}.json"));
        if report.exists() {
            fs::remove_file(&report)?;
        }
        let mut command = Command::new(self.file(package, "test"));
        command.args(["-test.v", GO_TIMEOUT]);
        let has_specs = !self.specs_of(package)?.is_empty();
        if has_specs {
            command.arg(GINKGO_TIMEOUT).arg(format!("--ginkgo.json-report={}", report.display()));
        }
        let printed = File::create(&log)?;
        command.stdin(Stdio::null()).stderr(printed.try_clone()?).stdout(printed);
        command.env("KUBEBUILDER_ASSETS", assets).current_dir(self.folder.join(package));
        let status = command.status().with_context(|| format!("the tests of {package}"))?;
        Ok(Run { success: status.success(), log, report: has_specs.then_some(report) })
    }

    /// Returns the tests of a package that run ginkgo's specs.
    ///
    /// # Errors
    /// Fails if the sources cannot be read.
    pub fn specs_of(&self, package: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder.join(package))? {
            let path = entry?.path();
            if !path.to_string_lossy().ends_with("_test.go") {
                continue;
            }
            let mut test = None;
            for line in fs::read_to_string(&path)?.lines() {
                if let Some(rest) = line.strip_prefix("func ") {
                    test = rest.split_once('(').map(|(name, _)| name.to_owned());
                } else if line.contains("RunSpecs(") {
                    found.extend(test.clone());
                }
            }
        }
        Ok(found)
    }

    fn file(&self, package: &str, end: &str) -> PathBuf {
        let name = if package == "." { "module".to_owned() } else { package.replace('/', "-") };
        self.work.join(format!("{name}.{end}"))
    }
}

/// Copies a folder out of Go's module cache, where files are read-only and scripts are not executable.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            let is_script = target.extension().is_some_and(|end| end == "sh");
            fs::set_permissions(&target, Permissions::from_mode(if is_script { 0o755 } else { 0o644 }))?;
        }
    }
    Ok(())
}
