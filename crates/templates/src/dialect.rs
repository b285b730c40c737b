//! The two ways to write references, and which of them a template uses: never both.

use serde_json::Value;

use crate::problem::Problem;
use crate::reference::references;
use crate::template::Template;
use crate::trail::{Trail, texts};

/// How references are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// `$(P)` and `$((P))`, as the proposal has it.
    Parentheses,
    /// `${P}` and `${{P}}`, as OpenShift has it.
    Braces,
}

impl Dialect {
    /// Its name in the annotation that decides.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parentheses => "parentheses",
            Self::Braces => "braces",
        }
    }

    /// The dialect of a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Parentheses, Self::Braces]
            .into_iter()
            .find(|dialect| dialect.as_str() == name)
    }

    /// An example of a reference to a parameter.
    pub(crate) fn example(self, name: &str) -> String {
        match self {
            Self::Parentheses => format!("$({name})"),
            Self::Braces => format!("${{{name}}}"),
        }
    }
}

/// Whether the dialect of a template has to be said, since it cannot be seen without the
/// references.
pub(crate) fn needs_word(template: &Template, dialect: Dialect) -> bool {
    dialect == Dialect::Braces
        && template.api_version != api::template::OPENSHIFT
        && template
            .parameters
            .iter()
            .all(|parameter| parameter.generate.is_none())
}

/// The dialect of a template: what its annotation says, or its apiVersion, or the references to its
/// own parameters.
pub(crate) fn decide(template: &Template, value: &Value) -> Result<Dialect, Problem> {
    if let Some(said) = &template.dialect {
        return Ok(*said);
    }
    if template.api_version == api::template::OPENSHIFT {
        return Ok(Dialect::Braces);
    }
    let mut seen = [None, None];
    for part in [
        "objects",
        api::template::LABELS,
        api::template::OBJECT_LABELS,
        "message",
    ] {
        let Some(part_value) = value.get(part) else {
            continue;
        };
        texts(
            part_value,
            &Trail::start(part),
            &mut |trail, text, is_key| {
                if memchr::memchr(b'$', text.as_bytes()).is_none() {
                    return;
                }
                for (dialect, seen) in [Dialect::Parentheses, Dialect::Braces]
                    .into_iter()
                    .zip(&mut seen)
                {
                    if seen.is_none() {
                        let declared = references(dialect, text)
                            .find(|found| template.parameter(found.name).is_some());
                        *seen = declared.map(|found| (trail.path(), is_key, found.name));
                    }
                }
            },
        );
    }
    let generates = template
        .parameters
        .iter()
        .any(|parameter| parameter.generate.is_some());
    match seen {
        [Some((path, at_key, name)), Some((other, _, braced))] => {
            let what = format!(
                "the template writes references in two ways: `{}` here, and `{}` at {other}",
                Dialect::Parentheses.example(name),
                Dialect::Braces.example(braced),
            );
            let problem = Problem {
                at_key,
                ..Problem::at(path, what).of(name)
            };
            Err(problem.hint(format!(
                "write all of them in one way, or say which one is meant by the annotation `{}: parentheses` or `braces`",
                api::template::DIALECT
            )))
        }
        [None, Some(_)] => Ok(Dialect::Braces),
        // Only OpenShift's templates generate values.
        [None, None] if generates => Ok(Dialect::Braces),
        _ => Ok(Dialect::Parentheses),
    }
}
