//! The journal's files: what is written is there again, whatever was cut off at the end, and damage
//! is told.

use std::sync::Arc;

use super::*;

fn key(name: &str) -> Key {
    Key::new(&Arc::from("things"), "ns", name)
}

fn put(revision: u64, name: &str, text: &str) -> Record {
    Record {
        revision,
        key: key(name),
        bytes: Some(Bytes::copy_from_slice(text.as_bytes())),
    }
}

fn gone(revision: u64, name: &str) -> Record {
    Record {
        revision,
        key: key(name),
        bytes: None,
    }
}

/// The newest revision, and every object by its name.
fn load(journal: &mut FileJournal) -> Result<(u64, Vec<String>), JournalError> {
    let mut objects = Vec::new();
    let revision = journal.load(&mut |key, revision, bytes| {
        objects.push(format!(
            "{}@{revision}={}",
            key.name(),
            String::from_utf8_lossy(&bytes)
        ));
        Ok(())
    })?;
    objects.sort();
    Ok((revision, objects))
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = files(directory)
        .unwrap()
        .into_iter()
        .map(|(number, kind)| format!("{number}.{kind}"))
        .collect();
    names.sort();
    names
}

fn opened(directory: &Path) -> (FileJournal, u64, Vec<String>) {
    let mut journal = FileJournal::open(directory).unwrap();
    let (revision, objects) = load(&mut journal).unwrap();
    (journal, revision, objects)
}

#[test]
fn what_is_appended_is_there_again_in_every_life() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut journal, revision, objects) = opened(scratch.path());
    assert_eq!((revision, objects.len()), (0, 0));
    journal
        .append(&[put(1, "a", "1"), put(2, "b", "2")])
        .unwrap();
    journal.append(&[put(3, "a", "3"), gone(4, "b")]).unwrap();
    assert!(
        FileJournal::open(scratch.path())
            .is_err_and(|error| error.to_string().contains("another process"))
    );
    drop(journal);
    let (mut journal, revision, objects) = opened(scratch.path());
    assert_eq!((revision, objects), (4, vec!["a@3=3".to_owned()]));
    let large = "x".repeat(3 * STEP);
    journal.append(&[put(5, "c", &large)]).unwrap();
    journal.append(&[gone(6, "a")]).unwrap();
    drop(journal);
    let (_, revision, objects) = opened(scratch.path());
    assert_eq!((revision, objects), (6, vec![format!("c@5={large}")]));
}

#[test]
fn a_batch_for_which_there_was_no_room_was_never_there() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut journal, ..) = opened(scratch.path());
    journal.append(&[put(1, "a", "1")]).unwrap();
    let log = journal.log.as_mut().unwrap();
    // A device that has no room for anything.
    let disk = std::mem::replace(
        &mut log.file,
        OpenOptions::new().write(true).open("/dev/full").unwrap(),
    );
    let error = journal.append(&[put(2, "b", "2")]).unwrap_err();
    assert!(
        error.is_full()
            && error
                .to_string()
                .starts_with("cannot write the journal: No space left"),
        "{error}"
    );
    drop((journal, disk));
    assert_eq!(opened(scratch.path()).1, 1);
}

#[test]
fn a_batch_that_was_cut_off_was_never_there() {
    let scratch = tempfile::tempdir().unwrap();
    let log = path(scratch.path(), 1, "log");
    let (mut journal, ..) = opened(scratch.path());
    journal.append(&[put(1, "a", "1")]).unwrap();
    let end = journal.log.as_ref().unwrap().end;
    journal
        .append(&[put(2, "a", "2"), put(3, "b", "3")])
        .unwrap();
    let whole = journal.log.as_ref().unwrap().end;
    drop(journal);
    let file = std::fs::read(&log).unwrap();
    for cut in 0..whole {
        std::fs::write(&log, &file[..cut]).unwrap();
        let mut journal = FileJournal::open(scratch.path()).unwrap();
        match load(&mut journal) {
            Ok((revision, objects)) if cut >= end => {
                assert_eq!((revision, objects.len()), (1, 1), "{cut}");
            }
            Ok((revision, _)) => assert!(revision == 0 && (cut == 0 || cut >= HEAD), "{cut}"),
            Err(_) => assert!(cut < HEAD, "{cut}"),
        }
    }
    // The next life writes the same revision anew, in a log of its own.
    std::fs::write(&log, &file[..whole - 1]).unwrap();
    let (mut journal, revision, _) = opened(scratch.path());
    assert_eq!(revision, 1);
    journal.append(&[put(2, "c", "new")]).unwrap();
    drop(journal);
    let (_, revision, objects) = opened(scratch.path());
    assert_eq!(
        (revision, objects),
        (2, vec!["a@1=1".to_owned(), "c@2=new".to_owned()])
    );
}

#[test]
fn damage_before_the_end_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut journal, ..) = opened(scratch.path());
    for revision in 1..=3 {
        journal.append(&[put(revision, "a", "some text")]).unwrap();
    }
    drop(journal);
    let (mut journal, ..) = opened(scratch.path());
    journal.append(&[put(4, "a", "more")]).unwrap();
    drop(journal);
    let log = path(scratch.path(), 1, "log");
    let good = std::fs::read(&log).unwrap();
    for (place, says) in [(HEAD + 20, "is damaged"), (3, "is no part of one")] {
        let mut file = good.clone();
        file[place] ^= 1;
        std::fs::write(&log, &file).unwrap();
        let error = load(&mut FileJournal::open(scratch.path()).unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains(says) && error.contains(".log"), "{error}");
    }
    std::fs::remove_file(&log).unwrap();
    let error = load(&mut FileJournal::open(scratch.path()).unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("objects-000002.log is damaged"), "{error}");
}

#[test]
fn a_long_journal_begins_anew_with_what_is_there() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut journal, ..) = opened(scratch.path());
    journal.limit = 100;
    assert!(!journal.is_long());
    journal
        .append(&[put(1, "a", &"x".repeat(200)), put(2, "b", "2")])
        .unwrap();
    assert!(journal.is_long());
    // A snapshot may be ahead of what was appended.
    let objects = vec![put(2, "b", "2"), put(3, "c", "3")];
    journal.shorten(Snapshot {
        revision: 3,
        objects,
    });
    journal
        .append(&[put(3, "c", "3"), put(4, "d", "4")])
        .unwrap();
    while journal
        .rebasing
        .as_ref()
        .is_some_and(|thread| !thread.is_finished())
    {
        std::thread::yield_now();
    }
    assert!(!journal.is_long() && journal.limit == SHORT);
    assert_eq!(names(scratch.path()), ["2.base", "2.log"]);
    drop(journal);
    let (mut journal, revision, objects) = opened(scratch.path());
    assert_eq!(
        (revision, objects),
        (
            4,
            vec!["b@2=2".to_owned(), "c@3=3".to_owned(), "d@4=4".to_owned()]
        )
    );
    journal.append(&[gone(5, "b")]).unwrap();
    journal.shorten(Snapshot {
        revision: 5,
        objects: Vec::new(),
    });
    drop(journal);
    let (_, revision, objects) = opened(scratch.path());
    assert_eq!((revision, objects.len()), (5, 0));
    assert_eq!(names(scratch.path()), ["4.base"]);
    let base = path(scratch.path(), 4, "base");
    std::fs::write(&base, &std::fs::read(&base).unwrap()[..HEAD - 1]).unwrap();
    assert!(load(&mut FileJournal::open(scratch.path()).unwrap()).is_err());
}

#[test]
fn a_base_that_was_not_finished_is_not_one() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut journal, ..) = opened(scratch.path());
    journal.append(&[put(1, "a", "1")]).unwrap();
    drop(journal);
    std::fs::write(path(scratch.path(), 2, "new"), "half").unwrap();
    let (mut journal, revision, objects) = opened(scratch.path());
    assert_eq!((revision, objects), (1, vec!["a@1=1".to_owned()]));
    assert_eq!(names(scratch.path()), ["1.log"]);
    // Many short lives do not leave a file each.
    for life in 0..MOST as u64 {
        journal.append(&[put(life + 2, "a", "x")]).unwrap();
        drop(journal);
        journal = opened(scratch.path()).0;
    }
    assert!(journal.is_long());
}
