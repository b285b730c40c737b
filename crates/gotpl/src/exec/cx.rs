//! What one run shares among all its templates: the data and its changed parts, the budget, and the
//! watcher.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value as Json;
use typed_arena::Arena;

use crate::ast::Tree;
use crate::func::Fault;
use crate::host::Draw;
use crate::limits::{Limits, Meter};
use crate::provenance;
use crate::set::{Input, MissingKey, Run, Set, parse_source};
use crate::trace::{Known, Piece, Presence, ROOT, Spot, Step, Trace, Tracer};
use crate::value::{Dict, Element, Items, Kind, List, Map, Text, Value};

/// The templates visible from a frame: those of the set, and inside `tpl` those its text defines.
pub(crate) struct Scope<'a> {
    set: Option<&'a Set>,
    own: BTreeMap<String, Tree>,
    outer: Option<&'a Scope<'a>>,
    /// What a key that is not there gives.
    pub missing_key: MissingKey,
}

impl<'a> Scope<'a> {
    pub fn of(set: &'a Set) -> Self {
        Scope {
            set: Some(set),
            own: BTreeMap::new(),
            outer: None,
            missing_key: set.options.missing_key,
        }
    }

    pub fn find(&'a self, name: &str) -> Option<&'a Tree> {
        let mut scope = self;
        loop {
            if let Some(tree) = scope.own.get(name) {
                return Some(tree);
            }
            if let Some(set) = scope.set {
                return set.trees.get(name).map(|tree| &**tree);
            }
            scope = scope.outer?;
        }
    }
}

/// What `tpl` parsed: the scope it was called from, the name in it, and the text.
type ParsedKey = (usize, String, Vec<u8>);
/// What was drawn: the template, the function, and what it was called with.
type DrawKey = (String, &'static str, Vec<String>);

/// The units of work of one node, call or turn of a loop.
const STEP: u64 = 100;
/// Of one element of a list or dict that is looked at.
const ELEMENT: u64 = 20;
/// Of one byte of a template that is parsed.
const PARSED: u64 = 100;

/// The shared state of a run.
pub(crate) struct Cx<'a> {
    pub run: &'a Run<'a>,
    meter: &'a Meter<'a>,
    arena: &'a Arena<Scope<'a>>,
    missing: Cell<bool>,
    nil_text: Cell<bool>,
    risky: Cell<bool>,
    /// What was generated since someone asked: in a watched run its mark, in another whether there
    /// was any.
    drawn: Cell<u32>,
    /// In a watched run: what was printed as `<nil>` since someone asked.
    nil_mark: Cell<u32>,
    /// In a watched run: what the function that is about to fail found missing by itself.
    blamed: Cell<u32>,
    /// Objects of the data that were changed in place, by address of the original.
    changed: RefCell<HashMap<usize, Rc<Dict<'a>>>>,
    any_changed: Cell<bool>,
    /// Every dict made, to take apart at the end: `set` can tie them into knots that would never be
    /// freed.
    dicts: RefCell<Vec<Rc<Dict<'a>>>>,
    /// Sources that `tpl` parsed, by the scope it was called from and their text.
    parsed: RefCell<HashMap<ParsedKey, &'a Scope<'a>>>,
    draws: RefCell<HashMap<DrawKey, usize>>,
    /// What the next draws are to be known by, whatever their place.
    pub draw_name: RefCell<Option<String>>,
    pub includes: RefCell<HashMap<Vec<u8>, usize>>,
    /// The templates being run, outermost first.
    pub active: RefCell<Vec<&'a Tree>>,
    tracer: Option<RefCell<Tracer<'a>>>,
    spot: Cell<Option<Spot<'a>>>,
}

impl<'a> Cx<'a> {
    pub fn new(
        run: &'a Run<'a>,
        meter: &'a Meter<'a>,
        arena: &'a Arena<Scope<'a>>,
        tracer: Option<Tracer<'a>>,
    ) -> Self {
        Cx {
            run,
            meter,
            arena,
            missing: Cell::new(false),
            nil_text: Cell::new(false),
            risky: Cell::new(false),
            drawn: Cell::new(0),
            nil_mark: Cell::new(0),
            blamed: Cell::new(0),
            changed: RefCell::default(),
            any_changed: Cell::new(false),
            dicts: RefCell::default(),
            parsed: RefCell::default(),
            draws: RefCell::default(),
            draw_name: RefCell::default(),
            includes: RefCell::default(),
            active: RefCell::default(),
            tracer: tracer.map(RefCell::new),
            spot: Cell::new(None),
        }
    }

    pub fn missing(&self) -> bool {
        self.missing.get()
    }

    /// Whether `<nil>` was printed anywhere.
    pub fn nil_text(&self) -> bool {
        self.nil_text.get()
    }

    /// Whether a text from data was printed that could be more than one scalar.
    pub fn risky(&self) -> bool {
        self.risky.get()
    }

    /// In an unwatched run: looks at a text from data that is printed after `before`.
    pub fn check(&self, mark: u32, printed: &[u8], before: &[u8], nested: bool) {
        if !self.risky.get() && provenance::is_risky(mark, printed, before, nested) {
            self.risky.set(true);
        }
    }

    /// Notes that something of data is printed that is no scalar.
    pub fn prints_structure(&self) {
        self.risky.set(true);
    }

    pub fn finish(mut self, pieces: &[Piece<'a>]) -> Option<Trace> {
        let tracer = self.tracer.take()?;
        Some(tracer.into_inner().finish(pieces))
    }

    // Budget.

    /// One node, call or turn of a loop.
    #[inline]
    pub fn step(&self) -> Result<(), Fault> {
        self.work(STEP)
    }

    /// Counts units of work.
    #[inline]
    pub fn work(&self, units: u64) -> Result<(), Fault> {
        self.meter.spend(units).map_err(Fault::over)
    }

    /// Counts units of work where nothing can fail.
    #[inline]
    pub fn add_work(&self, units: u64) {
        self.meter.add(units);
    }

    /// Pays for text or elements before they are made.
    #[inline]
    pub fn charge(&self, bytes: usize) -> Result<(), Fault> {
        self.meter.make(bytes).map_err(Fault::over)
    }

    /// Fails if a text that is being made is already longer than it may be.
    pub fn fits(&self, bytes: usize) -> Result<(), Fault> {
        self.meter.fits(bytes).map_err(Fault::over)
    }

    pub fn limits(&self) -> &Limits {
        self.meter.limits()
    }

    /// How many elements a list or dict has.
    pub fn elements(&self, value: &Value<'a>) -> usize {
        match &value.kind {
            Kind::List(list) => list.len(),
            Kind::Map(map) => self.size(map),
            _ => 0,
        }
    }

    // Watching.

    pub fn watched(&self) -> bool {
        self.tracer.is_some()
    }

    pub fn tracer(&self) -> Option<std::cell::RefMut<'_, Tracer<'a>>> {
        self.tracer.as_ref().map(RefCell::borrow_mut)
    }

    pub fn set_spot(&self, spot: Spot<'a>) {
        self.spot.set(Some(spot));
    }

    pub fn spot(&self) -> Option<Spot<'a>> {
        self.spot.get()
    }

    /// Notes that `<nil>` is printed for a value.
    pub fn prints_nil(&self, value: &Value<'a>) {
        self.nil_text.set(true);
        if let Some(mut tracer) = self.tracer() {
            self.nil_mark
                .set(tracer.join(self.nil_mark.get(), value.mark));
        }
    }

    /// What was printed as `<nil>` since the last call; from now on, what is given counts as such.
    pub fn swap_nils(&self, mark: u32) -> u32 {
        self.nil_mark.replace(mark)
    }

    /// Whether `<nil>` was printed since the last swap.
    pub fn has_nils(&self) -> bool {
        self.nil_mark.get() != 0
    }

    /// What was generated since the last call; from now on, what is given counts as such.
    pub fn swap_drawn(&self, mark: u32) -> u32 {
        self.drawn.replace(mark)
    }

    /// For a function that fails over what it has looked up itself.
    pub fn blame(&self, value: &Value<'a>) {
        self.blamed.set(value.mark);
    }

    /// What was blamed since the last call.
    pub fn take_blamed(&self) -> u32 {
        self.blamed.take()
    }

    // Data.

    /// The root of the data as a value.
    pub fn root(&self, input: &Input<'a>) -> Value<'a> {
        if input.over.is_empty() {
            let root = self.data(input.data).unboxed();
            return self.placed(root, ROOT);
        }
        let mut entries: BTreeMap<Text<'a>, Value<'a>> = BTreeMap::new();
        if let Json::Object(fields) = input.data {
            entries.extend(
                fields
                    .iter()
                    .map(|(key, value)| (Text::Borrowed(key.as_bytes()), self.data(value))),
            );
        }
        entries.extend(
            input
                .over
                .iter()
                .map(|(key, value)| (Text::Borrowed(key.as_bytes()), self.data(value))),
        );
        let mut root = self.dict(Element::Any, entries);
        if self.tracer.is_none() {
            root.mark = provenance::DATA;
        }
        self.placed(root, ROOT)
    }

    /// A view of JSON data, which an unwatched run marks as such.
    fn data(&self, json: &'a Json) -> Value<'a> {
        let mark = if self.tracer.is_none() {
            provenance::DATA
        } else {
            0
        };
        Value::json(json).marked(mark)
    }

    /// In a watched run: notes that `value` was read at `path`, and gives it the mark.
    fn placed(&self, value: Value<'a>, path: u32) -> Value<'a> {
        let Some(mut tracer) = self.tracer() else {
            return value;
        };
        let known = tracer.known(path);
        let value = if known == Known::Not {
            Value {
                kind: Kind::Unknown,
                ..value
            }
        } else {
            value
        };
        match &value.kind {
            Kind::Map(map) => tracer.locate(map.address(), path),
            Kind::List(List::Json(values)) => {
                tracer.locate(std::ptr::from_ref(*values).addr(), path);
            }
            _ => {}
        }
        let presence = match (&value.kind, known) {
            (Kind::Unknown, _) | (_, Known::Not) => Presence::Unknown,
            (Kind::Map(_) | Kind::List(_), Known::Partly) => Presence::Unknown,
            (Kind::Missing, _) => Presence::Missing,
            _ => Presence::Present,
        };
        match self.spot() {
            Some(spot) => {
                let mark = tracer.read(path, presence, spot);
                if let Kind::Text(text) = &value.kind {
                    tracer.keep_secret(text, mark, spot);
                }
                value.marked(mark)
            }
            None => value,
        }
    }

    /// A dict of this run.
    pub fn dict(&self, element: Element, entries: BTreeMap<Text<'a>, Value<'a>>) -> Value<'a> {
        let dict = Rc::new(Dict {
            element,
            nil: false,
            entries: RefCell::new(entries),
        });
        self.dicts.borrow_mut().push(dict.clone());
        Value::of(Kind::Map(Map::Own(dict)))
    }

    /// The dict as it is now: changed in place, or still as in the data.
    pub fn current(&self, map: &Map<'a>) -> Map<'a> {
        if let Map::Json(_) = map
            && self.any_changed.get()
            && let Some(dict) = self.changed.borrow().get(&map.address())
        {
            return Map::Own(dict.clone());
        }
        map.clone()
    }

    /// The dict, ready to be changed in place for everyone who holds it.
    pub fn changeable(&self, map: &Map<'a>) -> Rc<Dict<'a>> {
        match self.current(map) {
            Map::Own(dict) => dict,
            Map::Json(fields) => {
                self.add_work(ELEMENT.saturating_mul(fields.len() as u64));
                let entries = fields
                    .iter()
                    .map(|(key, value)| (Text::Borrowed(key.as_bytes()), self.data(value)))
                    .collect();
                let dict = Rc::new(Dict {
                    element: Element::Any,
                    nil: false,
                    entries: RefCell::new(entries),
                });
                self.dicts.borrow_mut().push(dict.clone());
                self.changed
                    .borrow_mut()
                    .insert(map.address(), dict.clone());
                self.any_changed.set(true);
                if let Some(mut tracer) = self.tracer()
                    && let Some(path) = tracer.path_at(map.address())
                {
                    tracer.locate(Rc::as_ptr(&dict).addr(), path);
                }
                dict
            }
        }
    }

    /// The value under a key; [`Kind::Missing`] if there is none.
    pub fn get(&self, map: &Map<'a>, key: &[u8]) -> Value<'a> {
        match std::str::from_utf8(key) {
            Ok(key) => self.field(map, key),
            // No key of JSON data is like that, but one that a template made may be.
            Err(_) => self.look_up(map, key, |_| None),
        }
    }

    /// As [`Cx::get`], for a key that is known to be text.
    pub fn field(&self, map: &Map<'a>, key: &str) -> Value<'a> {
        self.look_up(map, key.as_bytes(), |fields| {
            fields.get(key).map(|value| self.data(value))
        })
    }

    #[inline]
    fn look_up(
        &self,
        map: &Map<'a>,
        key: &[u8],
        in_data: impl FnOnce(&'a serde_json::Map<String, Json>) -> Option<Value<'a>>,
    ) -> Value<'a> {
        let current = self.current(map);
        let found = match &current {
            Map::Json(fields) => in_data(fields),
            Map::Own(dict) => dict.entries.borrow().get(key).cloned().map(|mut value| {
                value.boxed = dict.element == Element::Any;
                value
            }),
        };
        if found.is_none() {
            self.missing.set(true);
        }
        let found = found.unwrap_or(Value::MISSING);
        if self.tracer.is_some() {
            self.seen(
                &current,
                Step::Key(String::from_utf8_lossy(key).into()),
                found,
            )
        } else {
            found
        }
    }

    /// In a watched run: marks what was found in a dict. What templates put there keeps the mark it
    /// has.
    fn seen(&self, map: &Map<'a>, step: Step, found: Value<'a>) -> Value<'a> {
        let path = match self.tracer() {
            Some(mut tracer) if found.mark == 0 => {
                let parent = tracer.path_at(map.address());
                parent.map(|parent| tracer.child(parent, step))
            }
            _ => None,
        };
        match path {
            Some(path) => self.placed(found, path),
            None => found,
        }
    }

    /// What a field of nothing, or of something unknown, is: the same, one step further.
    pub fn beyond(&self, value: &Value<'a>, step: Step) -> Value<'a> {
        let path = self.tracer().and_then(|mut tracer| {
            let parent = tracer.path_of_mark(value.mark)?;
            let path = tracer.child(parent, step);
            Some((path, tracer.is_written(path)))
        });
        let value = Value {
            kind: value.kind.clone(),
            mark: value.mark,
            boxed: false,
        };
        match path {
            Some((_, true)) => self.derived(&[&value]),
            Some((path, false)) => self.placed(value, path),
            None => value,
        }
    }

    /// Something unknown that was computed from these values.
    pub fn derived(&self, from: &[&Value<'a>]) -> Value<'a> {
        let marks: Vec<u32> = from.iter().map(|value| self.deep_mark(value)).collect();
        let mark = self.tracer().map_or(0, |mut tracer| {
            let mark = marks
                .into_iter()
                .fold(0, |mark, other| tracer.join(mark, other));
            tracer.derived(mark)
        });
        Value::of(Kind::Unknown).marked(mark)
    }

    /// Whether an entry stands for one whose name nobody knows.
    pub fn is_placeholder(&self, key: &Value<'a>, element: &Value<'a>) -> bool {
        matches!(element.kind, Kind::Unknown)
            && matches!(&key.kind, Kind::Text(text) if **text == *crate::fmt::UNKNOWN.as_bytes())
    }

    /// Notes that the template changes something unknown, at a step or at any.
    pub fn writes(&self, value: &Value<'a>, step: Step) {
        if let Some(mut tracer) = self.tracer()
            && let Some(path) = tracer.path_of_mark(value.mark)
        {
            tracer.write(path, step);
        }
    }

    pub fn size(&self, map: &Map<'a>) -> usize {
        match self.current(map) {
            Map::Json(fields) => fields.len(),
            Map::Own(dict) => dict.entries.borrow().len(),
        }
    }

    /// All entries in order of their keys, as they are now.
    pub fn entries(&self, map: &Map<'a>) -> Vec<(Text<'a>, Value<'a>)> {
        let current = self.current(map);
        let entries: Vec<_> = match &current {
            Map::Json(fields) => fields
                .iter()
                .map(|(key, value)| (Text::Borrowed(key.as_bytes()), self.data(value)))
                .collect(),
            Map::Own(dict) => {
                let boxed = dict.element == Element::Any;
                let entries = dict.entries.borrow();
                entries
                    .iter()
                    .map(|(key, value)| {
                        (
                            key.clone(),
                            Value {
                                boxed,
                                ..value.clone()
                            },
                        )
                    })
                    .collect()
            }
        };
        if self.tracer.is_none() {
            return entries;
        }
        let located = |(key, value): (Text<'a>, Value<'a>)| {
            let step = Step::Key(key.lossy().into());
            (key, self.seen(&current, step, value))
        };
        entries.into_iter().map(located).collect()
    }

    /// An element of a list.
    pub fn item(&self, list: &List<'a>, index: usize) -> Option<Value<'a>> {
        match list {
            List::Own(items) => items.values.get(index).map(|value| Value {
                boxed: items.element == Element::Any,
                ..value.clone()
            }),
            List::Json(values) => {
                let value = self.data(values.get(index)?);
                let path = self.tracer().and_then(|mut tracer| {
                    let parent = tracer.path_at(std::ptr::from_ref(*values).addr())?;
                    Some(tracer.child(parent, Step::Index(index)))
                });
                Some(match path {
                    Some(path) => self.placed(value, path),
                    None => value,
                })
            }
        }
    }

    pub fn items(&self, list: &List<'a>) -> Vec<Value<'a>> {
        (0..list.len())
            .filter_map(|index| self.item(list, index))
            .collect()
    }

    /// The mark of a value and of all that templates packed into it. What is in it several times,
    /// or in itself, is looked at once.
    pub fn deep_mark(&self, value: &Value<'a>) -> u32 {
        let mut mark = value.mark;
        if !is_packed(value) {
            return mark;
        }
        let mut looked = HashSet::new();
        let mut waiting: Vec<Value<'a>> = Vec::new();
        let mut next = Some(value.clone());
        while let Some(container) = next {
            let add = |mark: &mut u32, waiting: &mut Vec<Value<'a>>, inner: &Value<'a>| {
                if inner.mark != 0
                    && let Some(mut tracer) = self.tracer()
                {
                    *mark = tracer.join(*mark, inner.mark);
                }
                if is_packed(inner) {
                    waiting.push(inner.clone());
                }
            };
            match &container.kind {
                Kind::List(List::Own(items)) if looked.insert(Rc::as_ptr(items).addr()) => {
                    self.add_work(ELEMENT.saturating_mul(items.values.len() as u64));
                    items
                        .values
                        .iter()
                        .for_each(|inner| add(&mut mark, &mut waiting, inner));
                }
                Kind::Map(map) => {
                    if let Map::Own(dict) = self.current(map)
                        && looked.insert(Rc::as_ptr(&dict).addr())
                    {
                        self.add_work(ELEMENT.saturating_mul(dict.entries.borrow().len() as u64));
                        if let Some(mut tracer) = self.tracer() {
                            let keys = tracer.keys_of(Rc::as_ptr(&dict).addr());
                            mark = tracer.join(mark, keys);
                        }
                        dict.entries
                            .borrow()
                            .values()
                            .for_each(|inner| add(&mut mark, &mut waiting, inner));
                    }
                }
                _ => {}
            }
            next = waiting.pop();
        }
        mark
    }

    /// In a watched run that guesses nothing: the lists and dicts that a function has made of
    /// something, with a mark on all in them that has none yet.
    pub fn steeped(&self, value: Value<'a>, mark: u32, depth: usize) -> Value<'a> {
        if mark == 0 || depth == 0 || !is_packed(&value) {
            return value;
        }
        let inner = |value: &Value<'a>| {
            let value = self.steeped(value.clone(), mark, depth - 1);
            if value.mark == 0 {
                value.marked(mark)
            } else {
                value
            }
        };
        let kind = match &value.kind {
            Kind::List(List::Own(items)) => {
                let values = items.values.iter().map(inner).collect();
                let items = Items {
                    element: items.element,
                    nil: items.nil,
                    values,
                    depth: items.depth,
                };
                Kind::List(List::Own(Rc::new(items)))
            }
            Kind::Map(Map::Own(dict)) => {
                let entries: Vec<_> = dict
                    .entries
                    .borrow()
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                let entries: BTreeMap<_, _> = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), inner(value)))
                    .collect();
                *dict.entries.borrow_mut() = entries;
                return value;
            }
            _ => return value,
        };
        Value { kind, ..value }
    }

    /// In an unwatched run: whether a value may be of data, or have any in it.
    pub fn is_data(&self, value: &Value<'a>) -> bool {
        let packed = |inner: &Value<'a>| inner.mark != 0 || is_packed(inner);
        value.mark != 0
            || match &value.kind {
                Kind::List(List::Own(items)) => items.values.iter().any(packed),
                // Its keys may be of data, whatever its values are.
                Kind::Map(map) => self.size(map) > 0,
                _ => false,
            }
    }

    /// What the keys of a dict depend on, given the mark of the dict.
    pub fn key_mark(&self, map: &Map<'a>, mark: u32) -> u32 {
        match self.tracer() {
            // Who put them there is not known: they may be of data.
            None => provenance::DATA,
            Some(tracer) if tracer.guesses() => 0,
            Some(mut tracer) => {
                let keys = tracer.keys_of(self.current(map).address());
                tracer.join(mark, keys)
            }
        }
    }

    /// Whether a value, or anything in it, is unknown.
    pub fn is_unknown(&self, value: &Value<'a>) -> bool {
        if let Kind::Unknown = value.kind {
            return true;
        }
        if value.mark == 0 && !is_packed(value) {
            return false;
        }
        let mark = self.deep_mark(value);
        self.tracer()
            .is_some_and(|tracer| tracer.holds(mark, Presence::Unknown))
    }

    // Outside.

    /// Random bytes for a call.
    pub fn draw(
        &self,
        template: &str,
        function: &'static str,
        arguments: Vec<String>,
        bytes: &mut [u8],
    ) -> Result<(), Fault> {
        let name = self.draw_name.borrow().clone();
        let template = if name.is_some() { "" } else { template };
        let key = (
            name.clone().unwrap_or_else(|| template.to_string()),
            function,
            arguments,
        );
        let occurrence = {
            let mut draws = self.draws.borrow_mut();
            let count = draws.entry(key.clone()).or_insert(0);
            *count += 1;
            *count - 1
        };
        let mark = match (self.tracer(), self.spot()) {
            (None, _) => provenance::DATA,
            (Some(mut tracer), Some(spot)) if !tracer.guesses() => {
                tracer.read(ROOT, Presence::Drawn, spot)
            }
            _ => 0,
        };
        self.drawn.set(mark);
        let draw = Draw {
            name: name.as_deref(),
            template,
            function,
            arguments: &key.2,
            occurrence,
        };
        self.run.host.random(&draw, bytes).map_err(Fault::new)
    }

    /// Parses a text given at run time; its definitions are seen only from inside it.
    pub fn parse(
        &self,
        outer: &'a Scope<'a>,
        name: &str,
        source: &[u8],
    ) -> Result<&'a Scope<'a>, Fault> {
        let key = (
            std::ptr::from_ref(outer).addr(),
            name.to_string(),
            source.to_vec(),
        );
        if let Some(scope) = self.parsed.borrow().get(&key) {
            return Ok(scope);
        }
        self.charge(source.len())?;
        self.work(PARSED.saturating_mul(source.len() as u64))?;
        let trees = parse_source(
            &self.run.set.options,
            name,
            &String::from_utf8_lossy(source),
            false,
        )
        .map_err(|error| Fault::nested(error.placeless()))?;
        let mut own = BTreeMap::new();
        for tree in trees {
            if tree.name != name && crate::ast::is_empty(&tree) && outer.find(&tree.name).is_some()
            {
                continue;
            }
            own.insert(tree.name.clone(), tree);
        }
        // Helm's `tpl` knows only these two.
        let strict = outer.missing_key == MissingKey::Error;
        let missing_key = if strict {
            MissingKey::Error
        } else {
            MissingKey::Zero
        };
        let scope = &*self.arena.alloc(Scope {
            set: None,
            own,
            outer: Some(outer),
            missing_key,
        });
        self.parsed.borrow_mut().insert(key, scope);
        Ok(scope)
    }
}

impl Drop for Cx<'_> {
    fn drop(&mut self) {
        // Flat, so that neither a knot nor a long chain of dicts outlives the run or overflows the
        // stack.
        self.changed.get_mut().clear();
        let dicts = std::mem::take(self.dicts.get_mut());
        for dict in &dicts {
            let entries = dict.entries.take();
            drop(entries);
        }
    }
}

/// Whether templates can have packed other values into it.
fn is_packed(value: &Value<'_>) -> bool {
    matches!(value.kind, Kind::List(List::Own(_)) | Kind::Map(_))
}
