//! The files of `tests/clients/suites`.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// What is run of one project.
#[derive(Debug, PartialEq, Eq)]
pub struct Suite {
    /// The name of its file, without the end.
    pub name: String,
    /// `sigs.k8s.io/controller-runtime`
    pub module: String,
    /// `v0.24.1`
    pub version: String,
    /// Its packages that are run, in order.
    pub packages: Vec<Package>,
}

/// A folder with tests.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// `pkg/client`; `.` is the module's own.
    pub folder: String,
    /// Its tests that fail.
    pub fails: Vec<Expected>,
}

/// A test that fails, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// The test.
    pub test: String,
    /// A sentence.
    pub reason: String,
}

impl Suite {
    /// Reads one file's text.
    ///
    /// # Errors
    /// The number of a line that is none of those above, or stands in the wrong place.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut module = None;
        let mut packages: Vec<Package> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = || format!("{name}.txt:{number}: {line:?}");
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "#" => {}
                "module" => module = Some(rest.split_once(' ').with_context(wrong)?),
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
                _ => bail!("{}: a line begins with #, module, package, fails or two spaces", wrong()),
            }
        }
        let (module, version) = module.with_context(|| format!("{name}.txt names no module"))?;
        for expected in packages.iter().flat_map(|package| &package.fails) {
            ensure!(!expected.reason.is_empty(), "{name}.txt does not say why {:?} fails", expected.test);
        }
        Ok(Self { name: name.to_owned(), module: module.to_owned(), version: version.to_owned(), packages })
    }

    /// All of a folder, sorted by name.
    ///
    /// # Errors
    /// A file that cannot be read or understood.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_understood_and_versions_are_those_of_our_own_programs() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let suites = Suite::all(&here.join("suites")).unwrap();
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(names, ["controller-runtime", "flux-ssa"]);
        let ours = std::fs::read_to_string(here.join("programs/go/go.mod")).unwrap();
        let wanted = format!("{} {}\n", suites[0].module, suites[0].version);
        assert!(ours.contains(&wanted), "{wanted}");
    }

    #[test]
    fn reasons_belong_to_the_test_above() {
        let text = "# p\nmodule m v1\npackage .\npackage a/b\nfails T/x y\n  because\n  of it\n";
        let suite = Suite::parse("s", text).unwrap();
        let expected = Expected { test: "T/x y".into(), reason: "because of it".into() };
        assert_eq!(suite.packages[0].fails, []);
        assert_eq!(suite.packages[1].fails, [expected]);
        for wrong in [
            "package .\n",
            "module m v1\nfails T\n",
            "module m v1\npackage .\nfails T\n",
            "module m\n",
            "x\n",
        ] {
            assert!(Suite::parse("s", wrong).is_err(), "{wrong}");
        }
    }
}
