//! Processing: a template and values in; objects, or everything that is wrong, out. Never a part of
//! a result.

use std::collections::{BTreeMap, BTreeSet};

use objects::Path;
use serde_json::{Map, Value, json};

use crate::Random;
use crate::dialect::{self, Dialect};
use crate::environment;
use crate::fields;
use crate::generate::generate;
use crate::label::{self, Labels};
use crate::parameter::{Kind, Parameter};
use crate::pods;
use crate::problem::{Problem, Severity};
use crate::revise;
use crate::substitute::Substitution;
use crate::template::Template;
use crate::trail::Trail;

/// How many bytes all texts with references may take in the result, unless said otherwise.
const BUDGET: usize = 32 << 20;

/// What a template is processed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Values of parameters, each name once.
    pub values: Vec<(String, String)>,
    /// What was generated before, to be used again in place of new values.
    pub recalled: Vec<(String, String)>,
    /// More labels; they win over those of the template.
    pub labels: BTreeMap<String, String>,
    /// Labels for the objects alone, never for selectors and pods.
    pub marks: BTreeMap<String, String>,
    /// The dialect, if the caller knows better than the template.
    pub dialect: Option<Dialect>,
    /// Whether values that no parameter takes are no mistake.
    pub ignore_unknown: bool,
    /// Whether references that nobody could mean are mistakes.
    pub strict: bool,
    /// Whether template labels stay away from selectors and pods.
    pub keep_selectors: bool,
    /// How many bytes all texts with references may take in the result.
    pub budget: usize,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            recalled: Vec::new(),
            labels: BTreeMap::new(),
            marks: BTreeMap::new(),
            dialect: None,
            ignore_unknown: false,
            strict: false,
            keep_selectors: false,
            budget: BUDGET,
        }
    }
}

impl Given {
    /// Given these values and nothing else.
    pub fn values<'v>(values: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let values = values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            values: values.collect(),
            ..Self::default()
        }
    }
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was given.
    Given,
    /// It is the template's own.
    Default,
    /// It was drawn.
    Generated,
}

/// A parameter and the value that it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// The parameter's name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
}

/// A processed template.
#[derive(Clone, Debug, PartialEq)]
pub struct Processed {
    template: Value,
    /// The values that were used, in the order of the parameters.
    pub used: Vec<Used>,
    /// What is perhaps not meant.
    pub warnings: Vec<Problem>,
    /// The dialect it was written in.
    pub dialect: Dialect,
    /// Whether labels of the template were put into selectors.
    pub selectors: bool,
}

impl Processed {
    /// The objects.
    pub fn objects(&self) -> &[Value] {
        self.template["objects"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// What the template wants to be told after its objects were made.
    pub fn message(&self) -> Option<&str> {
        self.template["message"]
            .as_str()
            .filter(|message| !message.is_empty())
    }

    /// The result as a template, whose parameters have the values that were used.
    pub fn into_template(self) -> Value {
        self.template
    }

    /// The result as a list of objects.
    pub fn into_list(mut self) -> Value {
        json!({ "apiVersion": "v1", "kind": "List", "items": self.template["objects"].take() })
    }
}

/// Processes a template.
///
/// # Errors
///
/// Everything that is wrong with the template, or if nothing is, with the values, or if nothing is,
/// with the result.
pub fn process(
    mut value: Value,
    given: &Given,
    random: Random<'_>,
) -> Result<Processed, Vec<Problem>> {
    let (template, warnings) = Template::read(&value)?;
    let aliased = fields::settle_labels(&mut value);
    let outcome = filled_in(value, &template, warnings, given, random);
    if !aliased {
        return outcome;
    }
    let written = |problems: Vec<Problem>| problems.into_iter().map(fields::at_alias).collect();
    match outcome {
        Ok(processed) => Ok(Processed {
            warnings: written(processed.warnings),
            ..processed
        }),
        Err(problems) => Err(written(problems)),
    }
}

fn filled_in(
    mut value: Value,
    template: &Template,
    mut warnings: Vec<Problem>,
    given: &Given,
    random: Random<'_>,
) -> Result<Processed, Vec<Problem>> {
    let dialect = match given.dialect {
        Some(dialect) => dialect,
        None => template.dialect(&value).map_err(|problem| vec![problem])?,
    };
    let used = values(template, dialect, given, random, &mut warnings)?;
    let mut run = Substitution {
        dialect,
        values: used
            .iter()
            .map(|used| (used.name.as_str(), used.value.as_str()))
            .collect(),
        numbers: template
            .parameters
            .iter()
            .filter(|one| one.kind == Kind::Int)
            .map(|one| one.name.as_str())
            .collect(),
        budget: given.budget,
        shape: None,
        problems: Vec::new(),
    };
    if let Some(Value::String(message)) = value.get_mut("message")
        && let Some(text) = run.text(message, &Trail::start("message"), false)
    {
        *message = text;
    }
    let labels = labels(&mut run, &mut value, given);
    let mut selectors = false;
    if let Some(Value::Array(objects)) = value.get_mut("objects") {
        let start = Trail::start("objects");
        let keep = given.keep_selectors || template.keep_selectors || dialect == Dialect::Braces;
        for (index, object) in objects.iter_mut().enumerate() {
            let trail = start.index(index);
            run.shape = pods::shape(object);
            environment::check(
                object,
                &trail,
                run.shape.as_ref(),
                template,
                dialect,
                given.strict,
                &mut run.problems,
            );
            if dialect == Dialect::Braces {
                revise::strip_namespace(object);
            }
            run.value(object, &trail);
            if dialect == Dialect::Braces {
                revise::add_group(object);
            }
            // The kind may have been a reference.
            let shape = pods::shape(object).filter(|_| !keep && !labels.is_empty());
            let outcome = label_all(object, shape.as_ref(), &labels, given, &trail.path());
            match outcome {
                Ok(labelled) => selectors |= labelled,
                Err(problem) => run.problems.push(problem),
            }
        }
    }
    let (doubts, problems): (Vec<_>, Vec<_>) = run
        .problems
        .into_iter()
        .partition(|problem| problem.severity == Severity::Warning);
    if !problems.is_empty() {
        return Err(problems);
    }
    warnings.extend(doubts);
    show_values(&mut value, template, &used);
    if dialect::needs_word(template, dialect) {
        say_dialect(&mut value, dialect);
    }
    Ok(Processed {
        template: value,
        used,
        warnings,
        dialect,
        selectors,
    })
}

fn label_all(
    object: &mut Value,
    shape: Option<&pods::Shape>,
    labels: &Labels,
    given: &Given,
    path: &Path,
) -> Result<bool, Problem> {
    let mut selectors = false;
    if !labels.is_empty() {
        label::label_object(object, labels, path)?;
        if let Some(shape) = shape {
            selectors = label::label_pods(object, shape, labels, path)?;
        }
    }
    if !given.marks.is_empty() {
        label::label_object(object, &given.marks, path)?;
    }
    Ok(selectors)
}

/// The template's labels with their references replaced, and those given.
fn labels(run: &mut Substitution<'_>, value: &mut Value, given: &Given) -> Labels {
    let mut labels = Labels::new();
    let trail = Trail::start("labels");
    if let Some(Value::Object(fields)) = value.get_mut("labels") {
        run.keys(fields, &trail);
        for (key, field) in fields.iter_mut() {
            let Value::String(text) = field else { continue };
            if let Some(replaced) = run.text(text, &trail.key(key), false) {
                *text = replaced;
            }
            labels.insert(key.clone(), text.clone());
        }
    }
    labels.extend(
        given
            .labels
            .iter()
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    if run.problems.is_empty() {
        run.problems.extend(label::check(&labels));
    }
    if let (Value::Object(fields), false) = (value, given.labels.is_empty()) {
        let all = labels
            .iter()
            .map(|(key, value)| (key.clone(), Value::String(value.clone())));
        fields.insert("labels".to_owned(), Value::Object(all.collect()));
    }
    labels
}

/// The value of each parameter, or all that is wrong with them.
fn values(
    template: &Template,
    dialect: Dialect,
    given: &Given,
    random: Random<'_>,
    warnings: &mut Vec<Problem>,
) -> Result<Vec<Used>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut said: BTreeMap<&str, &str> = BTreeMap::new();
    let mut twice = BTreeSet::new();
    for (name, value) in &given.values {
        if template.parameter(name).is_none() {
            if !given.ignore_unknown {
                problems.push(unknown(template, name));
            }
        } else if said.insert(name, value).is_some() && twice.insert(name) {
            problems.push(
                Problem::at(
                    Path::root(),
                    format!("the parameter {name} was given more than once"),
                )
                .of(name),
            );
        }
    }
    let mut used = Vec::new();
    for parameter in &template.parameters {
        let said = said.get(parameter.name.as_str()).copied();
        match value(template, parameter, dialect, said, &given.recalled, random) {
            Ok((value, origin)) => {
                let problem = misfit(template, parameter, dialect, &value, origin);
                match problem {
                    Some((problem, true)) => problems.push(problem),
                    Some((problem, false)) => warnings.push(problem),
                    None => {}
                }
                used.push(Used {
                    name: parameter.name.clone(),
                    value,
                    origin,
                });
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(used)
    } else {
        Err(problems)
    }
}

fn unknown(template: &Template, name: &str) -> Problem {
    let problem = Problem::at(
        Path::root(),
        format!("the template has no parameter {name}"),
    )
    .of(name);
    let names = || {
        template
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
    };
    match objects::nearest(name, names()) {
        Some(near) => problem.hint(format!("is {near} meant?")),
        None if template.parameters.is_empty() => problem.hint("it has none at all"),
        None => problem.hint(format!("it has {}", names().collect::<Vec<_>>().join(", "))),
    }
}

/// The value of a parameter: given, its own, or drawn.
fn value(
    template: &Template,
    parameter: &Parameter,
    dialect: Dialect,
    said: Option<&str>,
    recalled: &[(String, String)],
    random: Random<'_>,
) -> Result<(String, Origin), Problem> {
    let name = &parameter.name;
    let path = || template.path_of(name);
    if let (Some(_), Dialect::Parentheses) = (&parameter.generate, dialect) {
        let what = format!(
            "the parameter {name} wants its value generated, which only OpenShift's templates do"
        );
        return Err(Problem::at(path().child("generate"), what)
            .of(name)
            .hint(format!("take `generate` away and mark it `required: true`, or write references as `${{{name}}}`")));
    }
    if let Some(said) = said {
        return Ok((said.to_owned(), Origin::Given));
    }
    let own = parameter.value.clone().unwrap_or_default();
    if let Some((_, before)) = recalled
        .iter()
        .find(|(other, _)| other == name && parameter.is_generated())
    {
        return Ok((before.clone(), Origin::Generated));
    }
    match parameter.generate.as_deref() {
        Some("expression") if own.is_empty() => {
            let from = parameter.from.as_deref().unwrap_or_default();
            let drawn = generate(from, random).map_err(|error| {
                let what = format!("the parameter {name} cannot be generated: {}", error.what);
                Problem {
                    hint: error.hint,
                    ..Problem::at(path().child("from"), what).of(name)
                }
            })?;
            Ok((drawn, Origin::Generated))
        }
        Some(other) if other != "expression" && own.is_empty() => {
            let what =
                format!("the parameter {name} wants the generator `{other}`, which there is not");
            Err(Problem::at(path().child("generate"), what)
                .of(name)
                .hint("the only one is `expression`"))
        }
        _ => Ok((own, Origin::Default)),
    }
}

/// What is wrong with the value of a parameter, and whether that is a mistake.
fn misfit(
    template: &Template,
    parameter: &Parameter,
    dialect: Dialect,
    value: &str,
    origin: Origin,
) -> Option<(Problem, bool)> {
    let name = &parameter.name;
    let path = template.path_of(name);
    if parameter.required && value.is_empty() {
        let what = format!("the parameter {name} is required and has no value");
        let problem = Problem::at(path, what).of(name).missing();
        return Some((
            problem.hint(format!("give one with `-p {name}=VALUE`")),
            true,
        ));
    }
    let refused = parameter.kind.refuses(value)?;
    let shown = if parameter.is_secret() {
        "its value".to_owned()
    } else {
        format!("`{}`", cut(value))
    };
    let what = format!(
        "the parameter {name} is of type {}, and {shown} {refused}",
        parameter.kind.as_str()
    );
    let path = if origin == Origin::Default {
        path.child("value")
    } else {
        path
    };
    let problem = Problem::at(path, what).of(name);
    // OpenShift knows no types, and what runs there should run here.
    Some(match dialect {
        Dialect::Parentheses => (problem, true),
        Dialect::Braces => (problem.warning(), false),
    })
}

/// The beginning of a value, for a sentence.
fn cut(value: &str) -> String {
    let start: String = value.chars().take(60).collect();
    if start.len() < value.len() {
        format!("{start}...")
    } else {
        start
    }
}

/// Writes the values that were used beside the parameters.
fn show_values(value: &mut Value, template: &Template, used: &[Used]) {
    let Some(Value::Array(parameters)) = value.get_mut("parameters") else {
        return;
    };
    for ((fields, declared), used) in parameters.iter_mut().zip(&template.parameters).zip(used) {
        if declared.value.is_some() || !used.value.is_empty() {
            fields["value"] = Value::String(used.value.clone());
        }
    }
}

/// Notes the dialect, which the result does not show any more: processed again it is to be the
/// same.
pub(crate) fn say_dialect(value: &mut Value, dialect: Dialect) {
    let Value::Object(fields) = value else { return };
    let metadata = fields.entry("metadata").or_insert(Value::Null);
    let annotations = match metadata {
        Value::Null => {
            *metadata = json!({ "annotations": {} });
            &mut metadata["annotations"]
        }
        Value::Object(metadata) => metadata.entry("annotations").or_insert(Value::Null),
        _ => return,
    };
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    if let Value::Object(annotations) = annotations {
        annotations.insert(
            api::template::DIALECT.to_owned(),
            Value::from(dialect.as_str()),
        );
    }
}
