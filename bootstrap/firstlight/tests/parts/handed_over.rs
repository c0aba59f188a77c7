//! Tests of `firstlight::handed_over`.

use std::path::Path;

use firstlight::handed_over::{TARGET, before_apply, refuse, refuse_source, set_aside, state};
use pivot::Journal;
use pivot::journal::{FileDisk, Header, Record};
use server::backup::files::JOURNAL;

fn journal(folder: &Path, namespace: &str, records: &[Record]) {
    let path = folder.join(JOURNAL);
    drop(std::fs::remove_file(&path));
    let mut journal = Journal::open(Box::new(FileDisk::open(&path).unwrap())).unwrap();
    let header = Header {
        id: "1".into(),
        source: "s".into(),
        target: "t".into(),
        target_name: "https://real.example:6443/".into(),
        namespace: namespace.into(),
        keep_source: false,
    };
    for record in [Record::Started(header)].iter().chain(records) {
        journal.append(record.clone()).unwrap();
    }
}

#[test]
fn what_was_handed_over_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let told = || state(path).unwrap().map(|state| state.to_string()).unwrap_or_default();
    let of = |namespaces: &'static [&'static str]| before_apply(path, namespaces.iter().copied());
    refuse(&path.join(JOURNAL)).unwrap();
    of(&["default"]).unwrap();
    assert_eq!(told(), "");
    journal(path, "", &[Record::Paused, Record::HandingOver]);
    assert!(told().contains("--resume") && told().contains("--roll-back"), "{}", told());
    let disk = FileDisk::open(&path.join(JOURNAL)).unwrap();
    assert_eq!(told(), "the clusters are being handed over to https://real.example:6443/");
    drop(disk);
    refuse(&path.join(JOURNAL)).unwrap();
    of(&["default"]).unwrap();
    journal(path, "", &[Record::RollingBack, Record::RolledBack]);
    refuse(&path.join(JOURNAL)).unwrap();
    assert_eq!(told(), "");
    journal(path, "", &[Record::RollingBack]);
    assert!(!told().contains("--resume") && told().contains("--roll-back"), "{}", told());
    journal(path, "", &[Record::HandedOver]);
    assert!(told().contains("--resume") && !told().contains("--roll-back"), "{}", told());
    refuse(&path.join(JOURNAL)).unwrap();
    let error = of(&["default"]).unwrap_err().to_string();
    assert!(error.contains("https://real.example:6443/") && error.contains("--resume"), "{error}");
    journal(path, "", &[Record::HandedOver, Record::Unpaused, Record::Done]);
    for error in [refuse(&path.join(JOURNAL)), of(&[])] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("https://real.example:6443/") && error.contains("--start-afresh"), "{error}");
    }
    assert!(refuse_source(&path.join("kubeconfig")).is_err());
    refuse_source(&path.join(TARGET)).unwrap();
    let back = format!("--to-kubeconfig {}/kubeconfig", path.display());
    assert!(told().contains("--start-afresh") && told().contains(&back), "{}", told());
    journal(path, "one", &[Record::HandedOver, Record::Unpaused, Record::Done]);
    assert!(told().starts_with("the clusters of namespace one were handed over"), "{}", told());
    refuse(&path.join(JOURNAL)).unwrap();
    of(&["two"]).unwrap();
    assert!(of(&["two", "one"]).unwrap_err().to_string().contains("namespace one"));
    set_aside(&path.join(JOURNAL)).unwrap();
    of(&["one"]).unwrap();
    assert!(path.join("pivot.1.journal").exists(), "what it said is kept");
    std::fs::write(path.join(JOURNAL), "7 garbage\n").unwrap();
    assert!(format!("{:#}", refuse(&path.join(JOURNAL)).unwrap_err()).contains("damaged"));
}
