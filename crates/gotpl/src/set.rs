//! A set of templates that may call each other, and the ways to run one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::ast::{Tree, is_empty};
use crate::error::Error;
use crate::exec;
use crate::func::{self, Func, Library};
use crate::host::{Host, NoHost};
use crate::limits::{Limits, Meter};
use crate::parse::{Grammar, parse};
use crate::trace::{Known, Path, Trace};

/// What a key that is not there gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// Nothing, which prints as `<no value>`; a field of nothing is nothing.
    #[default]
    Default,
    /// The zero value of the element type.
    Zero,
    /// An error.
    Error,
}

/// How a set parses and behaves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What a missing key gives.
    pub missing_key: MissingKey,
    /// What opens an action; `{{` if empty.
    pub left: String,
    /// What closes an action; `}}` if empty.
    pub right: String,
    /// The functions templates may call.
    pub funcs: Library,
    /// More functions, which win over those of the library.
    pub extra: &'static [Func],
}

/// Parsed templates, ready to run any number of times and from any thread.
#[derive(Clone, Debug, Default)]
pub struct Set {
    pub(crate) options: Options,
    pub(crate) trees: BTreeMap<String, Arc<Tree>>,
}

impl Set {
    /// An empty set with default options.
    pub fn new() -> Set {
        Set::default()
    }

    /// An empty set.
    pub fn with_options(options: Options) -> Set {
        Set {
            options,
            trees: BTreeMap::new(),
        }
    }

    /// Changes the options for what is parsed and run from now on.
    pub fn options(&mut self, options: Options) -> &mut Set {
        self.options = options;
        self
    }

    /// Adds a source: its body under `name`, its definitions under theirs. On error nothing is
    /// added.
    pub fn parse(&mut self, name: &str, source: &str) -> Result<(), Box<Error>> {
        for tree in parse_source(&self.options, name, source, true)? {
            // An empty body never replaces a template that has one: a source of nothing but
            // definitions must not hide a template of the source's own name.
            let keep =
                is_empty(&tree) && self.trees.get(&tree.name).is_some_and(|old| !is_empty(old));
            if !keep {
                self.trees.insert(tree.name.clone(), Arc::new(tree));
            }
        }
        Ok(())
    }

    /// Makes a template known by a second name.
    pub fn alias(&mut self, alias: &str, name: &str) {
        if let Some(tree) = self.trees.get(name) {
            self.trees.insert(alias.to_string(), tree.clone());
        }
    }

    /// Whether any source of the set contains this text.
    pub fn mentions(&self, text: &str) -> bool {
        self.trees.values().any(|tree| tree.source.contains(text))
    }

    /// The names of all templates of the set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.trees.keys().map(String::as_str)
    }

    /// Whether there is a template of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.trees.contains_key(name)
    }

    /// Runs a template over JSON data with default limits and nothing from outside.
    pub fn execute(&self, name: &str, data: &Json) -> Result<Vec<u8>, Box<Error>> {
        Run::new(self)
            .execute(name, &Input::new(data))
            .map(|output| output.text)
    }

    /// Every function that templates of this set may call.
    pub fn functions(&self) -> Vec<&'static str> {
        let mut names = func::names(self.options.funcs);
        names.extend(self.options.extra.iter().map(|func| func.name));
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Parses one source with a set's options.
pub(crate) fn parse_source(
    options: &Options,
    name: &str,
    source: &str,
    in_file: bool,
) -> Result<Vec<Tree>, Box<Error>> {
    let function = |name: &str| {
        options
            .extra
            .iter()
            .find(|func| func.name == name)
            .or_else(|| func::find(options.funcs, name))
    };
    parse(
        name,
        source,
        &Grammar {
            left: &options.left,
            right: &options.right,
            in_file,
            function: &function,
        },
    )
}

/// The root of the data: an object, and more fields laid over it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub(crate) data: &'a Json,
    pub(crate) over: &'a [(&'a str, &'a Json)],
}

impl<'a> Input<'a> {
    /// The data as it is.
    pub fn new(data: &'a Json) -> Self {
        Input { data, over: &[] }
    }

    /// The data, which must be an object, with these fields beside its own.
    pub fn with(data: &'a Json, over: &'a [(&'a str, &'a Json)]) -> Self {
        Input { data, over }
    }
}

/// How closely a run is watched.
#[derive(Clone, Copy, Default)]
pub enum Watch<'a> {
    /// Only whether anything was missing.
    #[default]
    Lightly,
    /// Every read and where it went.
    Closely,
    /// As `Closely`, and parts of the data are unknown: both sides of a branch on them are taken.
    Guessing(&'a dyn Fn(&Path) -> Known),
    /// As `Guessing`, and of a branch on something unknown only the side of this truth is taken.
    Assuming(&'a dyn Fn(&Path) -> Known, bool),
}

/// How to run templates of a set.
#[derive(Clone)]
pub struct Run<'a> {
    /// The templates.
    pub set: &'a Set,
    /// Where randomness, the time and lookups come from.
    pub host: &'a dyn Host,
    /// How much it may do, if it has no meter.
    pub limits: Limits,
    /// What counts what it does, and says how much that may be: shared by runs that have one budget
    /// together.
    pub meter: Option<&'a Meter<'a>>,
    /// How closely it is watched.
    pub watch: Watch<'a>,
    /// What a value that is not there prints as; in Go `<no value>`.
    pub no_value: &'a str,
    /// Whether an action that fails over something missing prints nothing, and the run goes on.
    /// Watched runs only.
    pub forgiving: bool,
    /// Which places in the data must not be told to anyone. What is generated never must. Watched
    /// runs only.
    pub secret: Option<&'a dyn Fn(&Path) -> bool>,
}

/// What a run made.
#[derive(Clone, Debug)]
pub struct Output {
    /// The text; in Go, and so here, any bytes.
    pub text: Vec<u8>,
    /// Whether any key was looked for that is not there.
    pub missing: bool,
    /// Whether a function printed Go's word for nothing, `<nil>`, be it into the text or not.
    pub nil_text: bool,
    /// In an unwatched run: whether a text from data was printed that could be more than one scalar
    /// of YAML.
    pub risky: bool,
    /// What was seen, if the run was watched closely.
    pub trace: Option<Trace>,
}

impl<'a> Run<'a> {
    /// A run with default limits, unwatched, with nothing from outside.
    pub fn new(set: &'a Set) -> Self {
        Run {
            set,
            host: &NoHost,
            limits: Limits::default(),
            meter: None,
            watch: Watch::Lightly,
            no_value: "<no value>",
            forgiving: false,
            secret: None,
        }
    }

    /// Runs a template. A failed run that was watched closely tells what it had seen until then.
    pub fn execute(&self, name: &str, input: &Input<'_>) -> Result<Output, Box<Error>> {
        self.trace(name, input).map_err(|failure| failure.0)
    }

    /// As [`Run::execute`]; on failure with what was seen until then.
    pub fn trace(
        &self,
        name: &str,
        input: &Input<'_>,
    ) -> Result<Output, (Box<Error>, Box<Option<Trace>>)> {
        exec::execute(self, name, input)
    }
}
