//! The language of the cases: what is asked of a server, step by step, and what it has to answer.
//! It only reads and writes texts; `play` asks. `cases/README.md` describes it.

use anyhow::{Context, Result, bail, ensure};

/// The cases of one file.
pub struct Script {
    /// What stands before the first case.
    preface: Vec<String>,
    /// The cases, in order.
    pub cases: Vec<Case>,
}

/// One behaviour.
#[derive(Clone)]
pub struct Case {
    /// The sentence that says it.
    pub title: String,
    /// Why the embedded server does not behave so, if it is known not to.
    pub not_embedded: Option<String>,
    /// Remarks below the title, kept when answers are recorded.
    remarks: Vec<String>,
    /// What is asked, in order.
    pub steps: Vec<Step>,
}

/// One request, or one look at a watch.
#[derive(Clone, Default)]
pub struct Step {
    /// Whether it only prepares: it must succeed, and its answer is nobody's concern.
    pub quiet: bool,
    /// `GET`, `APPLY`, `WATCH`, ...
    pub verb: String,
    /// What follows the verb.
    pub target: String,
    /// Headers, by name.
    pub headers: Vec<(String, String)>,
    /// Directives, by name.
    pub directives: Vec<(String, String)>,
    /// The lines of the body.
    pub body: String,
    /// The lines of the expected answer.
    pub answer: String,
    /// The lines of the request as they are written.
    source: Vec<String>,
}

/// The directives that there are.
const DIRECTIVES: [&str; 12] = [
    "as",
    "body-of",
    "brief",
    "hide",
    "managed-fields",
    "raw",
    "repeat",
    "save",
    "show",
    "until",
    "accept",
    "type",
];

impl Script {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self> {
        let mut script = Self {
            preface: Vec::new(),
            cases: Vec::new(),
        };
        let mut answering = false;
        for (index, line) in text.lines().enumerate() {
            let at = || format!("line {}: {line}", index + 1);
            if let Some(title) = line.strip_prefix("## ") {
                let title = title.to_owned();
                script.cases.push(Case {
                    title,
                    not_embedded: None,
                    remarks: Vec::new(),
                    steps: Vec::new(),
                });
                answering = false;
                continue;
            }
            let Some(case) = script.cases.last_mut() else {
                script.preface.push(line.to_owned());
                continue;
            };
            let verb = line
                .strip_prefix("> ")
                .or_else(|| line.strip_prefix("+ "))
                .filter(|rest| begins_step(rest));
            if let Some(rest) = verb {
                let (verb, target) = rest.split_once(' ').unwrap_or((rest, ""));
                case.steps.push(Step {
                    quiet: line.starts_with('+'),
                    verb: verb.to_owned(),
                    target: target.to_owned(),
                    source: vec![line.to_owned()],
                    ..Step::default()
                });
                answering = false;
                continue;
            }
            let Some(step) = case.steps.last_mut() else {
                case.remarks.push(line.to_owned());
                if let Some(reason) = line.strip_prefix("! not embedded: ") {
                    case.not_embedded = Some(reason.to_owned());
                }
                continue;
            };
            answering |= line.starts_with("< ");
            if answering {
                step.answer.push_str(line);
                step.answer.push('\n');
                continue;
            }
            step.source.push(line.to_owned());
            match line.strip_prefix("> ") {
                Some(rest) => step.add(rest).with_context(at)?,
                None => {
                    step.body.push_str(line);
                    step.body.push('\n');
                }
            }
        }
        for case in &mut script.cases {
            ensure!(!case.steps.is_empty(), "{}: it has no steps", case.title);
            for step in &mut case.steps {
                trim_end(&mut step.answer);
                trim_end(&mut step.body);
            }
        }
        Ok(script)
    }

    /// The file with what each step was answered.
    pub fn emit(&self) -> String {
        let mut text = String::new();
        let mut line = |line: &str| {
            text.push_str(line.trim_end());
            text.push('\n');
        };
        self.preface.iter().for_each(|preface| line(preface));
        for (index, case) in self.cases.iter().enumerate() {
            if index > 0 {
                line("");
            }
            line(&format!("## {}", case.title));
            case.remarks
                .iter()
                .filter(|remark| !remark.is_empty())
                .for_each(|remark| line(remark));
            for step in &case.steps {
                step.source
                    .iter()
                    .filter(|source| !source.is_empty())
                    .for_each(|source| line(source));
                step.answer.lines().for_each(&mut line);
            }
        }
        text
    }
}

impl Step {
    fn add(&mut self, text: &str) -> Result<()> {
        if let Some((name, value)) = text
            .split_once(": ")
            .filter(|(name, _)| !name.contains(' '))
        {
            self.headers.push((name.to_owned(), value.to_owned()));
            return Ok(());
        }
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        if !DIRECTIVES.contains(&name) {
            bail!("there is no directive {name}");
        }
        self.directives.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The value of a directive.
    pub fn directive(&self, name: &str) -> Option<&str> {
        self.directives
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// All values of a directive.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.directives
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Whether what follows the mark is a verb, which is written in capitals, and no header or
/// directive.
fn begins_step(rest: &str) -> bool {
    let verb = rest.split(' ').next().unwrap_or_default();
    verb.len() > 2 && verb.chars().all(|c| c.is_ascii_uppercase() || c == '-')
}

fn trim_end(text: &mut String) {
    text.truncate(text.trim_end().len());
}
