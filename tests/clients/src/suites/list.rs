//! Parses the files in `tests/clients/suites`.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// The packages of one project that are run.
#[derive(Debug, PartialEq, Eq)]
pub struct Suite {
    /// Name of the file without extension.
    pub name: String,
    /// Go module, for example `sigs.k8s.io/controller-runtime`.
    pub module: String,
    /// Version, for example `v0.24.1`.
    pub version: String,
    /// What the project's Makefile renders before its tests.
    pub rendered: Vec<Rendered>,
    /// The packages to run, in order.
    pub packages: Vec<Package>,
}

/// A kustomization, and the file that its manifests become. Both are paths in the module.
#[derive(Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The folder of the kustomization.
    pub from: String,
    /// The file.
    pub to: String,
}

/// A folder with tests.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// The folder, for example `pkg/client`; `.` is the module's root.
    pub folder: String,
    /// Tests that are expected to fail.
    pub fails: Vec<Expected>,
}

/// A test that is expected to fail.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// Name of the test.
    pub test: String,
    /// The reason, a sentence.
    pub reason: String,
}

impl Suite {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// The number of a line that is not in the described format or in the wrong place.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut module = None;
        let mut rendered = Vec::new();
        let mut packages: Vec<Package> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = || format!("{name}.txt:{number}: {line:?}");
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "#" => {}
                "module" => module = Some(rest.split_once(' ').with_context(wrong)?),
                "kustomize" => {
                    let (from, to) = rest.split_once(' ').with_context(wrong)?;
                    rendered.push(Rendered { from: from.to_owned(), to: to.to_owned() });
                }
                "package" => packages.push(Package { folder: rest.to_owned(), fails: Vec::new() }),
                "fails" => {
                    let expected = Expected { test: rest.to_owned(), reason: String::new() };
                    packages.last_mut().with_context(wrong)?.fails.push(expected);
                }
                "" if line.starts_with("  ") => {
                    let last = packages.last_mut().and_then(|package| package.fails.last_mut());
                    let reason = &mut last.with_context(wrong)?.reason;
                    if !reason.is_empty() {
                        reason.push(' ');
                    }
                    reason.push_str(line.trim());
                }
                _ => bail!(
                    "{}: a line begins with #, module, kustomize, package, fails or two spaces",
                    wrong()
                ),
            }
        }
        let (module, version) = module.with_context(|| format!("{name}.txt names no module"))?;
        for expected in packages.iter().flat_map(|package| &package.fails) {
            ensure!(!expected.reason.is_empty(), "{name}.txt does not say why {:?} fails", expected.test);
        }
        let (name, module, version) = (name.to_owned(), module.to_owned(), version.to_owned());
        Ok(Self { name, module, version, rendered, packages })
    }

    /// Reads all files of a folder, sorted by name.
    ///
    /// # Errors
    /// Fails if a file cannot be read or parsed.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut suites = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            suites.push(Self::parse(&name, &std::fs::read_to_string(&path)?)?);
        }
        suites.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(suites)
    }
}

/// Returns the packages with one of the words in `SUITE/FOLDER`, or all if there is no word.
///
/// # Errors
/// A word that no package has, so that a run of nothing does not look like a success.
pub fn choose(mut suites: Vec<Suite>, words: &[String]) -> Result<Vec<Suite>> {
    let has =
        |suite: &str, package: &Package, word: &str| format!("{suite}/{}", package.folder).contains(word);
    for word in words {
        let mut packages =
            suites.iter().flat_map(|suite| suite.packages.iter().map(|package| (&suite.name, package)));
        ensure!(
            packages.any(|(suite, package)| has(suite, package, word)),
            "no package has {word:?} in its name"
        );
    }
    for suite in &mut suites {
        let Suite { name, packages, .. } = suite;
        packages.retain(|package| words.is_empty() || words.iter().any(|word| has(name, package, word)));
    }
    suites.retain(|suite| !suite.packages.is_empty());
    Ok(suites)
}
