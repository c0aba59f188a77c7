//! Power failures at every operation on files outside of the store.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ::files::Disk;
use crash::disk::Cut;
use crash::files::{FileSystem, OpenFile};
use machinery::random::Random;

const STEPS: usize = 60;
const CUTS: [Cut; 6] = [Cut::Lost, Cut::Written, Cut::Torn, Cut::Scattered, Cut::Scattered, Cut::Scattered];

/// The files after so many operations, all of which were acknowledged.
struct Mark {
    operations: usize,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// A disk that leaves something out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Careless {
    Nothing,
    Contents,
    Folders,
}

struct Recorded(FileSystem, Careless);

impl Disk for Recorded {
    type File = OpenFile;

    fn create(&self, path: &Path, mode: u32) -> io::Result<OpenFile> {
        self.0.create(path, mode)
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.0.open(path)
    }

    fn sync(&self, file: &OpenFile) -> io::Result<()> {
        if self.1 == Careless::Contents { Ok(()) } else { self.0.sync(file) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn has_folder(&self, path: &Path) -> bool {
        self.0.has_folder(path)
    }

    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.0.make_folder(path, mode)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        if self.1 == Careless::Folders { Ok(()) } else { self.0.sync_folder(path) }
    }
}

/// Replaces and publishes files, and returns what is expected after each step.
fn perform(disk: &Recorded, random: &Random) -> Vec<Mark> {
    let mut marks = vec![Mark { operations: 0, files: BTreeMap::new() }];
    let mut files = BTreeMap::new();
    for _ in 0..STEPS {
        let number = random.number();
        let path = PathBuf::from(["/a", "/below/b", "/below/deep/c"][usize::try_from(number % 3).unwrap()]);
        let content = number.to_le_bytes().repeat(usize::try_from(number % 7).unwrap() + 1);
        let (first, second) = content.split_at(content.len() / 2);
        if number.is_multiple_of(2) {
            ::files::replace_on(disk, &path, 0o600, |file| {
                file.write_all(first)?;
                Ok(file.write_all(second)?)
            })
            .unwrap();
        } else {
            let part = path.with_extension("part");
            ::files::make_folder_on(disk, path.parent().unwrap(), 0o700).unwrap();
            let mut file = disk.create(&part, 0o600).unwrap();
            file.write_all(&content).unwrap();
            ::files::publish_on(disk, &part, &path).unwrap();
        }
        files.insert(path, content);
        marks.push(Mark { operations: disk.0.operations(), files: files.clone() });
    }
    marks
}

/// Returns the first moment at which a power failure leaves something else than the files before a step or after it.
fn broken(disk: &Recorded, marks: &[Mark], random: &Random) -> Option<String> {
    for moment in 0..=disk.0.operations() {
        let before = marks.iter().rposition(|mark| mark.operations <= moment).unwrap();
        for cut in CUTS {
            let left = disk.0.after(moment, cut, random);
            for path in marks.last().unwrap().files.keys() {
                let expected = |mark: &Mark| mark.files.get(path) == left.get(path);
                if !marks[before..].iter().take(2).any(expected) {
                    return Some(format!("{} before operation {moment}, {cut:?}", path.display()));
                }
            }
        }
    }
    None
}

#[test]
fn a_power_failure_leaves_the_old_file_or_the_new_one() {
    for seed in 0..20 {
        let (disk, random) = (Recorded(FileSystem::default(), Careless::Nothing), Random::seeded(seed));
        let marks = perform(&disk, &random);
        assert_eq!(broken(&disk, &marks, &random), None, "seed {seed}");
    }
}

#[test]
fn the_model_finds_each_missing_sync() {
    for careless in [Careless::Contents, Careless::Folders] {
        let (disk, random) = (Recorded(FileSystem::default(), careless), Random::seeded(1));
        let marks = perform(&disk, &random);
        assert!(broken(&disk, &marks, &random).is_some());
    }
}
