//! The store by itself: revisions, conflicts, the past, watches, and what a journal keeps.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn key(name: &str) -> Key {
    Key::new(&Arc::from("things"), "ns", name)
}

fn thing(size: u32) -> Value {
    json!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "x"}, "size": size})
}

async fn put(store: &Store, name: &str, expect: Expect, size: u32) -> Result<u64, CommitError> {
    let change = Change {
        key: key(name),
        expect,
        to: Some(thing(size)),
    };
    store
        .commit(vec![change])
        .await
        .map(|entries| entries[0].revision)
}

async fn remove(store: &Store, name: &str) -> Result<u64, CommitError> {
    let change = Change {
        key: key(name),
        expect: Expect::Any,
        to: None,
    };
    store
        .commit(vec![change])
        .await
        .map(|entries| entries[0].revision)
}

fn names(listing: &Listing) -> Vec<u64> {
    listing
        .entries
        .iter()
        .map(|entry| entry.value()["size"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn a_change_needs_what_it_expects() {
    let store = Store::in_memory(Window::default());
    let first = put(&store, "a", Expect::Absent, 1).await.unwrap();
    assert!(matches!(
        put(&store, "a", Expect::Absent, 2).await,
        Err(CommitError::Conflict(_))
    ));
    let second = put(&store, "a", Expect::Revision(first), 2).await.unwrap();
    assert!(second > first);
    assert!(matches!(
        put(&store, "a", Expect::Revision(first), 3).await,
        Err(CommitError::Conflict(_))
    ));
    let entry = store.get(&key("a")).unwrap();
    assert_eq!(
        (
            entry.revision,
            &entry.value()["metadata"]["resourceVersion"]
        ),
        (second, &json!(second.to_string()))
    );
    assert!(remove(&store, "a").await.unwrap() > second);
    assert!(store.get(&key("a")).is_none() && remove(&store, "a").await.is_err());
    assert!(
        put(&store, "b", Expect::Revision(1), 1).await.is_err(),
        "what is not there has no revision"
    );
}

#[tokio::test]
async fn of_several_changes_all_are_made_or_none() {
    let store = Store::in_memory(Window::default());
    put(&store, "b", Expect::Absent, 1).await.unwrap();
    let change = |name: &str| Change {
        key: key(name),
        expect: Expect::Absent,
        to: Some(thing(9)),
    };
    assert!(store.commit(vec![change("a"), change("b")]).await.is_err());
    assert!(store.get(&key("a")).is_none());
    assert_eq!(
        store
            .commit(vec![change("a"), change("c")])
            .await
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn a_list_is_as_it_is_or_as_it_was() {
    let store = Store::in_memory(Window::default());
    for (name, size) in [("a", 1), ("b", 2), ("c", 3)] {
        put(&store, name, Expect::Absent, size).await.unwrap();
    }
    let then = store.revision();
    put(&store, "b", Expect::Any, 20).await.unwrap();
    remove(&store, "c").await.unwrap();
    put(&store, "d", Expect::Absent, 4).await.unwrap();
    let list = |at, after, limit| {
        let query = Query {
            resource: "things",
            namespace: "ns",
            at,
            after,
            limit,
        };
        store.list(&query, |_| true).unwrap()
    };
    assert_eq!(names(&list(None, None, 0)), [1, 20, 4]);
    assert_eq!(names(&list(Some(then), None, 0)), [1, 2, 3]);
    let page = list(Some(then), None, 2);
    assert_eq!(
        (names(&page), page.more.as_deref(), page.remaining),
        (vec![1, 2], Some("ns/b"), 1)
    );
    assert_eq!(names(&list(Some(then), Some("ns/b"), 2)), [3]);
    let other = Query {
        resource: "things",
        namespace: "n",
        ..Query::default()
    };
    assert!(
        store.list(&other, |_| true).unwrap().entries.is_empty(),
        "a namespace is no prefix of another"
    );
}

#[tokio::test]
async fn a_watch_tells_everything_once_and_in_order() {
    let store = Store::in_memory(Window::default());
    let table: Arc<str> = Arc::from("things");
    let from = store.revision();
    put(&store, "a", Expect::Absent, 1).await.unwrap();
    let mut watcher = store.watch(&table, from).unwrap();
    assert_eq!(watcher.next().await.unwrap().events.len(), 1);
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for size in 0..600 {
                put(&store, "a", Expect::Any, size).await.unwrap();
            }
            remove(&store, "a").await.unwrap();
        }
    });
    let mut seen = Vec::new();
    while seen.len() < 601 {
        seen.extend(watcher.next().await.unwrap().events);
    }
    writing.await.unwrap();
    let revisions: Vec<u64> = seen.iter().map(|event| event.revision).collect();
    assert!(revisions.is_sorted_by(|a, b| a < b) && seen.last().unwrap().deleted);
    assert_eq!(seen[0].before.as_ref().unwrap().value()["size"], 1);
}

#[tokio::test]
async fn what_is_older_than_the_window_is_gone_but_a_quiet_resource_stays_watched() {
    let store = Store::in_memory(Window {
        events: 4,
        bytes: 1 << 20,
    });
    let quiet: Arc<str> = Arc::from("quiet");
    let mut patient = store.watch(&quiet, store.revision()).unwrap();
    let start = store.revision();
    for size in 0..10 {
        put(&store, "a", Expect::Any, size).await.unwrap();
    }
    let gone = store.watch(&Arc::from("things"), start).err().unwrap();
    assert_eq!((gone.asked, gone.oldest), (start, store.revision() - 4));
    assert!(
        store
            .list(
                &Query {
                    resource: "things",
                    at: Some(start),
                    ..Query::default()
                },
                |_| true
            )
            .is_err()
    );
    let change = Change {
        key: Key::new(&quiet, "", "q"),
        expect: Expect::Absent,
        to: Some(thing(1)),
    };
    store.commit(vec![change]).await.unwrap();
    assert_eq!(patient.next().await.unwrap().events.len(), 1);
}

#[test]
fn json_begins_with_what_a_list_leaves_out() {
    for (value, bytes, rest) in [
        (
            json!({"a": 1, "kind": "K", "apiVersion": "v1", "metadata": {}}),
            r#"{"kind":"K","apiVersion":"v1","metadata":{},"a":1}"#,
            r#""metadata":{},"a":1}"#,
        ),
        (json!({"a": 1}), r#"{"a":1}"#, r#""a":1}"#),
        (json!({"kind": "K"}), r#"{"kind":"K"}"#, "}"),
        (json!({}), "{}", "}"),
    ] {
        let entry = Entry::new(value, 1);
        assert_eq!(entry.bytes, bytes.as_bytes());
        assert_eq!(&entry.bytes[entry.typed..], rest.as_bytes());
    }
}

#[tokio::test]
async fn a_journal_keeps_objects_and_revisions_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let open = || {
        Store::with_journal(
            Box::new(FileJournal::open(directory).unwrap()),
            Window::default(),
        )
    };
    let store = open().unwrap();
    let writers = (0..8).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            put(&store, &format!("n{number}"), Expect::Absent, number)
                .await
                .unwrap()
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let last = remove(&store, "n7").await.unwrap();
    drop(store);
    // The journal's thread lets go of the file once it has seen that the store is gone.
    let store = loop {
        match FileJournal::open(directory) {
            Ok(journal) => {
                break Store::with_journal(Box::new(journal), Window::default()).unwrap();
            }
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!((store.revision(), store.count("things")), (last, 7));
    assert!(
        store.watch(&Arc::from("things"), last - 1).is_err(),
        "the past is not kept"
    );
    assert!(put(&store, "n7", Expect::Absent, 1).await.unwrap() > last);
}

/// A journal that always is too long, and tells what it would begin anew with.
struct Long(std::sync::mpsc::Sender<Snapshot>);

impl Journal for Long {
    fn load(&mut self, _: &mut journal::Load<'_>) -> Result<u64, JournalError> {
        Ok(5)
    }

    fn append(&mut self, _: &[Record]) -> Result<(), JournalError> {
        Ok(())
    }

    fn is_long(&mut self) -> bool {
        true
    }

    fn shorten(&mut self, snapshot: Snapshot) {
        self.0.send(snapshot).unwrap();
    }
}

#[tokio::test]
async fn a_journal_that_is_too_long_gets_everything_that_is_there() {
    let (send, snapshots) = std::sync::mpsc::channel();
    let store = Store::with_journal(Box::new(Long(send)), Window::default()).unwrap();
    put(&store, "a", Expect::Absent, 1).await.unwrap();
    put(&store, "b", Expect::Absent, 2).await.unwrap();
    let last = remove(&store, "a").await.unwrap();
    store.close().await;
    let newest = snapshots.iter().last().unwrap();
    let left: Vec<(u64, &str)> = newest
        .objects
        .iter()
        .map(|record| (record.revision, record.key.name()))
        .collect();
    assert_eq!((newest.revision, left), (last, vec![(last - 1, "b")]));
    assert_eq!(
        newest.objects[0].bytes,
        Some(store.get(&key("b")).unwrap().bytes.clone())
    );
}

struct Failing;

impl Journal for Failing {
    fn load(&mut self, _: &mut journal::Load<'_>) -> Result<u64, JournalError> {
        Ok(5)
    }

    fn append(&mut self, _: &[Record]) -> Result<(), JournalError> {
        Err(JournalError::io(
            "write",
            &std::io::Error::from_raw_os_error(28),
        ))
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_that_the_journal_did_not_take() {
    let store = Store::with_journal(Box::new(Failing), Window::default()).unwrap();
    for _ in 0..2 {
        let refused = put(&store, "a", Expect::Absent, 1).await.unwrap_err();
        assert!(
            matches!(&refused, CommitError::Broken(why) if why.contains("No space left on device")),
            "{refused}"
        );
        assert!(
            refused.to_string().contains("make room on the disk"),
            "{refused}"
        );
    }
    assert!(store.is_broken() && store.settled(6).await.is_err());
    assert!(store.failed().await.is_full());
    assert_eq!(store.revision(), 5, "it is not shown either");
    assert!(store.settled(5).await.is_ok(), "what was there before is");
}
