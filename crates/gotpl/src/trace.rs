//! Following values from the data to the text.
//!
//! In a watched run every value carries a *mark*: a number that stands for the set of reads it
//! depends on, or, for a string put together from pieces, for the set of each piece. Reading data
//! makes a mark, functions join those of their arguments, and where a value ends (in the text, in a
//! condition, in the answer to "is it there?") its mark is noted as a use. What is missing, what is
//! unknown and what is simply there all travel the same way.

mod path;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::ast::Tree;
use crate::limits::Meter;
pub use path::{Path, Step};

/// Whether what was read was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It was, null included.
    Present,
    /// It was not.
    Missing,
    /// This run is not told.
    Unknown,
    /// It was not looked for in the data but generated.
    Drawn,
}

/// How much a watched run is told of a place in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// All of it.
    Wholly,
    /// The place itself, but not everything below it.
    Partly,
    /// Nothing.
    Not,
}

/// A spot in a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The source it stands in.
    pub source: Rc<str>,
    /// The template of that source.
    pub template: Rc<str>,
    /// Byte offset in the source.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Byte column, from 0.
    pub column: usize,
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.source, self.line, self.column)
    }
}

/// One look into the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// What was looked for.
    pub path: Path,
    /// Whether it was there.
    pub presence: Presence,
    /// The expression that looked.
    pub site: Site,
    /// Whether it must not be told to anyone: see [`crate::Run::secret`].
    pub secret: bool,
}

/// Where a value ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UseKind {
    /// In the output.
    Text,
    /// As a condition: of `if`, `with`, `range`, or of a function that chooses.
    Branch,
    /// In a function that answers for what is not there, such as `default` or `hasKey`, and did.
    Guard,
    /// In a function that failed over it.
    Failure,
}

/// An end that some reads came to.
#[derive(Clone, Debug)]
pub struct Use {
    /// What kind of end.
    pub kind: UseKind,
    /// Where.
    pub site: Site,
    /// The function, if one was involved.
    pub function: Option<&'static str>,
    /// Indexes into [`Trace::reads`].
    pub reads: Vec<usize>,
}

/// Go's word for nothing, `<nil>`, printed where a value was meant.
#[derive(Clone, Debug)]
pub struct NilText {
    /// What was nil: an index into [`Trace::reads`].
    pub read: usize,
    /// Where it was printed.
    pub site: Site,
    /// The function that printed it, if it was one.
    pub function: Option<&'static str>,
}

/// A run of output bytes made by one spot of a template.
#[derive(Clone, Debug)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last; equal to `start` where nothing was printed.
    pub end: usize,
    /// What printed it.
    pub site: Site,
    /// The reads its value depends on.
    pub reads: Vec<usize>,
    /// The reads that decided whether it is printed at all.
    pub under: Vec<usize>,
    /// Indexes into [`Trace::nils`]: what the text, or what it was computed from, says in place of
    /// a value.
    pub nils: Vec<usize>,
    /// Whether it is a whole value that a function wrote as YAML or JSON, and nothing has changed
    /// but its indentation.
    pub written: bool,
}

/// What a watched run saw.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Every look into the data, in order of first occurrence.
    pub reads: Vec<Read>,
    /// Where values ended.
    pub uses: Vec<Use>,
    /// The output, piece by piece, without gaps.
    pub spans: Vec<Span>,
    /// Where Go's word for nothing was printed.
    pub nils: Vec<NilText>,
    /// In a guessing run, which goes on after a failure: what failed.
    pub failures: Vec<Failure>,
    /// Every text that is secret or was made of something secret, as far as that part of it goes.
    pub secrets: Vec<Vec<u8>>,
}

/// Something that went wrong in a guessing run.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What.
    pub error: crate::Error,
    /// Whether it happens whatever the unknown data turns out to be.
    pub certain: bool,
}

impl Trace {
    /// The reads with those indexes.
    pub fn reads_of<'t>(&'t self, indexes: &'t [usize]) -> impl Iterator<Item = &'t Read> {
        indexes.iter().filter_map(|index| self.reads.get(*index))
    }
}

/// A spot, before it is turned into line and column.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub tree: &'a Tree,
    pub offset: usize,
}

impl PartialEq for Spot<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.offset == other.offset
    }
}

/// A stretch of a string and the mark of its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub len: usize,
    pub mark: u32,
    pub under: u32,
    pub spot: Spot<'a>,
    /// Whether it is a whole value that a function wrote.
    pub written: bool,
}

enum Mark<'a> {
    Reads(Rc<[u32]>),
    /// Of something computed: it depends on these reads, but is not what stands at any of their
    /// paths.
    Derived(Rc<[u32]>),
    /// A string of pieces, and the union of their marks.
    Woven(Rc<[Piece<'a>]>, u32),
}

/// In the reads of a mark: not a read but an index into the nils that were printed.
const NIL: u32 = 1 << 31;
/// In the reads of a mark: a missing read that the template has an answer for. It counts only if
/// that answer fails.
const ANSWERED: u32 = 1 << 30;

type ReadKey = (u32, Presence, usize, usize);

/// The tables of a watched run.
pub(crate) struct Tracer<'a> {
    /// What is noted counts as text that is made, and to go through it as work.
    meter: &'a Meter<'a>,
    known: Option<&'a dyn Fn(&Path) -> Known>,
    paths: Vec<(u32, Option<Step>)>,
    children: HashMap<(u32, Step), u32>,
    containers: HashMap<usize, u32>,
    /// Paths of unknown data that the template itself has written to: what is there now is not what
    /// the data has.
    written: HashSet<u32>,
    reads: Vec<(u32, Presence, Spot<'a>)>,
    /// Which paths are secret, and which reads are.
    secret: Option<&'a dyn Fn(&Path) -> bool>,
    secret_reads: HashSet<u32>,
    secrets: HashSet<Vec<u8>>,
    /// By the address of a dict: what its keys depend on, beside the dict itself.
    keys: HashMap<usize, u32>,
    nils: Vec<(u32, Spot<'a>, Option<&'static str>)>,
    nil_ids: HashMap<(u32, usize, usize), u32>,
    read_ids: HashMap<ReadKey, u32>,
    marks: Vec<Mark<'a>>,
    mark_ids: HashMap<Rc<[u32]>, u32>,
    unions: HashMap<(u32, u32), u32>,
    uses: Vec<(UseKind, Spot<'a>, Option<&'static str>, u32)>,
    /// The conditions in force, joined.
    control: Vec<u32>,
    failures: Vec<Failure>,
}

/// What is counted for anything that is noted, in bytes.
const NOTE: usize = 16;

/// The path that every other starts from.
pub(crate) const ROOT: u32 = 0;

impl<'a> Tracer<'a> {
    pub fn new(
        known: Option<&'a dyn Fn(&Path) -> Known>,
        secret: Option<&'a dyn Fn(&Path) -> bool>,
        meter: &'a Meter<'a>,
    ) -> Self {
        let empty: Rc<[u32]> = Rc::new([]);
        Tracer {
            meter,
            known,
            paths: vec![(0, None)],
            children: HashMap::new(),
            containers: HashMap::new(),
            written: HashSet::new(),
            reads: Vec::new(),
            secret,
            secret_reads: HashSet::new(),
            secrets: HashSet::new(),
            keys: HashMap::new(),
            nils: Vec::new(),
            nil_ids: HashMap::new(),
            read_ids: HashMap::new(),
            marks: vec![Mark::Reads(empty.clone())],
            mark_ids: HashMap::from([(empty, 0)]),
            unions: HashMap::new(),
            uses: Vec::new(),
            control: Vec::new(),
            failures: Vec::new(),
        }
    }

    // Paths.

    pub fn child(&mut self, parent: u32, step: Step) -> u32 {
        if let Some(id) = self.children.get(&(parent, step.clone())) {
            return *id;
        }
        let length = match &step {
            Step::Key(key) => key.len(),
            Step::Index(_) | Step::Any => 0,
        };
        self.meter.add_bytes(NOTE + 2 * length);
        let id = u32::try_from(self.paths.len()).unwrap_or(u32::MAX);
        self.paths.push((parent, Some(step.clone())));
        self.children.insert((parent, step), id);
        id
    }

    pub fn path(&self, id: u32) -> Path {
        let mut steps = Vec::new();
        let mut at = id;
        while let Some((parent, Some(step))) = self.paths.get(at as usize) {
            steps.push(step.clone());
            at = *parent;
        }
        steps.reverse();
        Path(steps)
    }

    /// Remembers which path the container at an address is.
    pub fn locate(&mut self, address: usize, path: u32) {
        self.containers.insert(address, path);
    }

    pub fn path_at(&self, address: usize) -> Option<u32> {
        self.containers.get(&address).copied()
    }

    /// The path of a value that is one read and nothing else.
    pub fn path_of_mark(&self, mark: u32) -> Option<u32> {
        match self.marks.get(mark as usize) {
            Some(Mark::Reads(reads)) if reads.len() == 1 => {
                self.reads.get(reads[0] as usize).map(|read| read.0)
            }
            _ => None,
        }
    }

    /// Notes that the template puts something of its own below a path: at a step, or at any.
    pub fn write(&mut self, path: u32, step: Step) {
        let path = self.child(path, step);
        self.written.insert(path);
    }

    /// Whether the template has put something at a path, or may have put it there.
    pub fn is_written(&self, path: u32) -> bool {
        let any = self
            .paths
            .get(path as usize)
            .and_then(|(parent, _)| self.children.get(&(*parent, Step::Any)));
        self.written.contains(&path) || any.is_some_and(|any| self.written.contains(any))
    }

    /// Counts a stretch of the output, of which all reads are told in the end.
    pub fn tell(&self, piece: &Piece<'a>) {
        self.meter.add_bytes(
            NOTE + 8 * (self.reads_of(piece.mark).len() + self.reads_of(piece.under).len()),
        );
    }

    /// Whether parts of the data are unknown.
    pub fn guesses(&self) -> bool {
        self.known.is_some()
    }

    /// Whether what runs now runs only if something unknown says so.
    pub fn in_doubt(&self) -> bool {
        self.holds(self.under(), Presence::Unknown)
    }

    pub fn fail(&mut self, error: crate::Error) {
        let certain = !self.in_doubt();
        self.meter.add_bytes(2 * error.to_string().len());
        self.failures.push(Failure { error, certain });
    }

    pub fn known(&self, path: u32) -> Known {
        self.known
            .map_or(Known::Wholly, |known| known(&self.path(path)))
    }

    // Marks.

    /// Notes a read and answers its mark.
    pub fn read(&mut self, path: u32, presence: Presence, spot: Spot<'a>) -> u32 {
        let key = (
            path,
            presence,
            std::ptr::from_ref(spot.tree).addr(),
            spot.offset,
        );
        let id = match self.read_ids.get(&key) {
            Some(id) => *id,
            None => {
                let id = u32::try_from(self.reads.len()).unwrap_or(u32::MAX);
                self.reads.push((path, presence, spot));
                self.read_ids.insert(key, id);
                let is_secret = presence == Presence::Drawn
                    || presence == Presence::Present
                        && self.secret.is_some_and(|secret| secret(&self.path(path)));
                if is_secret {
                    self.secret_reads.insert(id);
                }
                id
            }
        };
        self.intern(Rc::new([id]))
    }

    fn intern(&mut self, reads: Rc<[u32]>) -> u32 {
        if let Some(id) = self.mark_ids.get(&reads) {
            return *id;
        }
        self.meter.add_bytes(NOTE + 4 * reads.len());
        let id = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        self.marks.push(Mark::Reads(reads.clone()));
        self.mark_ids.insert(reads, id);
        id
    }

    /// The mark of something unknown that was computed from what has this mark.
    pub fn derived(&mut self, mark: u32) -> u32 {
        let reads = self.reads_of(mark);
        if reads.is_empty() {
            return 0;
        }
        let id = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        self.meter.add_bytes(NOTE);
        self.marks.push(Mark::Derived(reads));
        id
    }

    fn reads_of(&self, mark: u32) -> Rc<[u32]> {
        match self.marks.get(mark as usize) {
            Some(Mark::Reads(reads) | Mark::Derived(reads)) => reads.clone(),
            Some(Mark::Woven(_, all)) if *all != mark => self.reads_of(*all),
            _ => Rc::new([]),
        }
    }

    /// The same mark for what stands in for something missing: it matters only to a failure over
    /// it.
    pub fn answered(&mut self, mark: u32) -> u32 {
        let missing = |read: &u32| {
            self.reads
                .get(*read as usize)
                .is_some_and(|read| read.1 == Presence::Missing)
        };
        let reads: Vec<u32> = self
            .reads_of(mark)
            .iter()
            .filter(|read| missing(read))
            .map(|read| read | ANSWERED)
            .collect();
        self.intern(reads.into())
    }

    /// The same mark with what was answered for as if it were not.
    fn unanswered(&mut self, mark: u32) -> u32 {
        let reads = self.reads_of(mark);
        if !reads.iter().any(|read| read & (NIL | ANSWERED) == ANSWERED) {
            return mark;
        }
        let plain = |read: &u32| {
            if read & NIL == 0 {
                read & !ANSWERED
            } else {
                *read
            }
        };
        let mut reads: Vec<u32> = reads.iter().map(plain).collect();
        reads.sort_unstable();
        reads.dedup();
        self.intern(reads.into())
    }

    /// Notes that `<nil>` was printed for what has this mark, and answers the mark of the text.
    pub fn nil(&mut self, mark: u32, spot: Spot<'a>, function: Option<&'static str>) -> u32 {
        let Some(read) = self
            .reads_of(mark)
            .iter()
            .copied()
            .rfind(|read| read & (NIL | ANSWERED) == 0)
        else {
            return 0;
        };
        let nils = &mut self.nils;
        let key = (read, std::ptr::from_ref(spot.tree).addr(), spot.offset);
        let index = *self.nil_ids.entry(key).or_insert_with(|| {
            nils.push((read, spot, function));
            u32::try_from(nils.len() - 1).unwrap_or(!NIL)
        });
        self.intern(Rc::new([NIL | index]))
    }

    /// Whether a mark is of a text in which `<nil>` was printed.
    pub fn holds_nil(&self, mark: u32) -> bool {
        self.reads_of(mark).iter().any(|read| read & NIL != 0)
    }

    /// The same mark for a text from which `<nil>` was taken out.
    pub fn without_nil(&mut self, mark: u32) -> u32 {
        let reads: Vec<u32> = self
            .reads_of(mark)
            .iter()
            .copied()
            .filter(|read| read & NIL == 0)
            .collect();
        self.intern(reads.into())
    }

    /// Both marks in one, forgetting pieces.
    pub fn join(&mut self, one: u32, other: u32) -> u32 {
        let (one, other) = (self.flat(one), self.flat(other));
        if one == other || other == 0 {
            return one;
        }
        if one == 0 {
            return other;
        }
        let key = (one.min(other), one.max(other));
        if let Some(id) = self.unions.get(&key) {
            return *id;
        }
        let mut reads: Vec<u32> = self
            .reads_of(one)
            .iter()
            .chain(self.reads_of(other).iter())
            .copied()
            .collect();
        self.meter.add(20 * reads.len() as u64);
        reads.sort_unstable();
        reads.dedup();
        let id = self.intern(reads.into());
        self.unions.insert(key, id);
        id
    }

    /// The mark of a whole string, if this one is of its pieces.
    pub fn flat(&self, mark: u32) -> u32 {
        match self.marks.get(mark as usize) {
            Some(Mark::Woven(_, all)) => *all,
            _ => mark,
        }
    }

    /// The mark of a string made of pieces.
    pub fn weave(&mut self, pieces: Vec<Piece<'a>>) -> u32 {
        let mut all = 0;
        for piece in &pieces {
            all = self.join(all, piece.mark);
            all = self.join(all, piece.under);
        }
        let id = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        self.meter.add_bytes(NOTE * (1 + pieces.len()));
        self.marks.push(Mark::Woven(pieces.into(), all));
        id
    }

    /// The pieces of a string of `len` bytes with that mark; one piece at `spot` if it is not
    /// woven.
    pub fn pieces(&self, mark: u32, len: usize, spot: Spot<'a>) -> Vec<Piece<'a>> {
        match self.marks.get(mark as usize) {
            Some(Mark::Woven(pieces, _))
                if pieces.iter().map(|piece| piece.len).sum::<usize>() == len =>
            {
                self.meter.add(10 * pieces.len() as u64);
                pieces.to_vec()
            }
            _ => vec![Piece {
                len,
                mark: self.flat(mark),
                under: 0,
                spot,
                written: false,
            }],
        }
    }

    pub fn is_woven(&self, mark: u32) -> bool {
        matches!(self.marks.get(mark as usize), Some(Mark::Woven(..)))
    }

    /// Whether a mark holds a read of that presence.
    pub fn holds(&self, mark: u32, presence: Presence) -> bool {
        self.meter.add(self.reads_of(mark).len() as u64);
        self.reads_of(mark).iter().any(|read| {
            self.reads
                .get(*read as usize)
                .is_some_and(|read| read.1 == presence)
        })
    }

    // Secrets.

    fn is_secret(&self, mark: u32) -> bool {
        !self.secret_reads.is_empty()
            && self
                .reads_of(mark)
                .iter()
                .any(|read| self.secret_reads.contains(read))
    }

    /// Remembers the parts of a text that are secret.
    pub fn keep_secret(&mut self, text: &[u8], mark: u32, spot: Spot<'a>) {
        if !self.is_secret(mark) {
            return;
        }
        let mut start = 0;
        for piece in self.pieces(mark, text.len(), spot) {
            let end = start + piece.len;
            if self.is_secret(piece.mark) && !self.secrets.contains(&text[start..end]) {
                self.secrets.insert(text[start..end].to_vec());
            }
            start = end;
        }
    }

    /// A text with a word in place of what is secret of it; none if nothing is.
    pub fn veiled(&self, text: &[u8], mark: u32, spot: Spot<'a>) -> Option<String> {
        if !self.is_secret(mark) {
            return None;
        }
        let (mut shown, mut start) = (Vec::new(), 0);
        for piece in self.pieces(mark, text.len(), spot) {
            let end = start + piece.len;
            shown.extend_from_slice(if self.is_secret(piece.mark) {
                b"(hidden)"
            } else {
                &text[start..end]
            });
            start = end;
        }
        Some(String::from_utf8_lossy(&shown).into_owned())
    }

    /// What the keys of the dict at an address depend on, beside the dict itself.
    pub fn keys_of(&self, address: usize) -> u32 {
        self.keys.get(&address).copied().unwrap_or(0)
    }

    /// Notes what keys of the dict at an address depend on.
    pub fn key_depends(&mut self, address: usize, mark: u32) {
        if mark != 0 && !self.guesses() {
            let mark = self.join(self.keys_of(address), mark);
            self.keys.insert(address, mark);
        }
    }

    // Ends.

    pub fn note(
        &mut self,
        kind: UseKind,
        spot: Spot<'a>,
        function: Option<&'static str>,
        mark: u32,
    ) {
        let mut mark = self.flat(mark);
        if kind == UseKind::Failure {
            mark = self.unanswered(mark);
        }
        if mark != 0 && self.uses.last() != Some(&(kind, spot, function, mark)) {
            self.meter.add_bytes(NOTE + 8 * self.reads_of(mark).len());
            self.uses.push((kind, spot, function, mark));
        }
    }

    /// The mark of what the last failure was about.
    pub fn last_failure(&self) -> u32 {
        let failure = self
            .uses
            .iter()
            .rev()
            .find(|(kind, ..)| *kind == UseKind::Failure);
        failure.map_or(0, |(_, _, _, mark)| *mark)
    }

    pub fn enter(&mut self, condition: u32) {
        let under = self.join(self.under(), condition);
        self.control.push(under);
    }

    pub fn leave(&mut self) {
        self.control.pop();
    }

    pub fn under(&self) -> u32 {
        self.control.last().copied().unwrap_or(0)
    }

    /// Turns the tables into what the caller reads.
    pub fn finish(self, pieces: &[Piece<'a>]) -> Trace {
        let mut sites = Sites::default();
        let indexes = |mark: u32| {
            let reads = self.reads_of(mark);
            reads
                .iter()
                .filter(|read| **read & (NIL | ANSWERED) == 0)
                .map(|read| *read as usize)
                .collect::<Vec<_>>()
        };
        let nils_of = |mark: u32| {
            let reads = self.reads_of(mark);
            reads
                .iter()
                .filter(|read| **read & NIL != 0)
                .map(|read| (*read & !NIL) as usize)
                .collect::<Vec<_>>()
        };
        let reads = self
            .reads
            .iter()
            .zip(0..)
            .map(|((path, presence, spot), id)| {
                let secret = self.secret_reads.contains(&id);
                Read {
                    path: self.path(*path),
                    presence: *presence,
                    site: sites.of(*spot),
                    secret,
                }
            })
            .collect();
        let uses = self
            .uses
            .iter()
            .map(|(kind, spot, function, mark)| Use {
                kind: *kind,
                site: sites.of(*spot),
                function: *function,
                reads: indexes(*mark),
            })
            .filter(|end| !end.reads.is_empty())
            .collect();
        let nils = self
            .nils
            .iter()
            .map(|(read, spot, function)| NilText {
                read: *read as usize,
                site: sites.of(*spot),
                function: *function,
            })
            .collect();
        let mut start = 0;
        let mut spans = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let end = start + piece.len;
            let (reads, under, nils) = (
                indexes(piece.mark),
                indexes(piece.under),
                nils_of(piece.mark),
            );
            spans.push(Span {
                start,
                end,
                site: sites.of(piece.spot),
                reads,
                under,
                nils,
                written: piece.written,
            });
            start = end;
        }
        let mut secrets: Vec<Vec<u8>> = self.secrets.into_iter().collect();
        secrets.sort_unstable();
        Trace {
            reads,
            uses,
            spans,
            nils,
            failures: self.failures,
            secrets,
        }
    }
}

/// Shares the names that thousands of sites have in common.
#[derive(Default)]
struct Sites {
    names: HashMap<usize, (Rc<str>, Rc<str>)>,
    /// Where the lines of each source begin.
    lines: HashMap<usize, Vec<usize>>,
}

impl Sites {
    fn of(&mut self, spot: Spot<'_>) -> Site {
        let tree = std::ptr::from_ref(spot.tree).addr();
        let (source, template) = self
            .names
            .entry(tree)
            .or_insert_with(|| {
                (
                    (&*spot.tree.source_name).into(),
                    spot.tree.name.as_str().into(),
                )
            })
            .clone();
        let lines = self
            .lines
            .entry(tree)
            .or_insert_with(|| line_starts(&spot.tree.source));
        let (line, column) = line_column_by(lines, spot.offset.min(spot.tree.source.len()));
        Site {
            source,
            template,
            offset: spot.offset,
            line,
            column,
        }
    }
}

/// Where the lines of a source begin.
pub(crate) fn line_starts(source: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(memchr::memchr_iter(b'\n', source.as_bytes()).map(|at| at + 1))
        .collect()
}

/// As [`line_column`], for many places of one source.
pub(crate) fn line_column_by(starts: &[usize], offset: usize) -> (usize, usize) {
    let line = starts.partition_point(|start| *start <= offset);
    (
        line,
        offset
            - line
                .checked_sub(1)
                .and_then(|at| starts.get(at))
                .copied()
                .unwrap_or(0),
    )
}

/// Line from 1 and byte column from 0. On the first line Go counts from the start of the source, as
/// anywhere else.
pub(crate) fn line_column(source: &str, offset: usize) -> (usize, usize) {
    let before = &source.as_bytes()[..offset.min(source.len())];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let column = before
        .iter()
        .rev()
        .position(|byte| *byte == b'\n')
        .unwrap_or(before.len());
    (line, column)
}
