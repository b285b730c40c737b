//! What a template can read and call, found without data: a guessing run in which nothing is known,
//! and a walk over the tree for the calls.

use serde_json::Value as Json;

use crate::ast::{Expr, Node, Pipe, Tree};
use crate::error::Error;
use crate::func::Func;
use crate::host::Still;
use crate::limits::Meter;
use crate::set::{Input, Run, Set, Watch};
use crate::trace::{Known, Site, Trace, line_column_by, line_starts};

/// What a template can do.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Every path it can read, and what it would make of them, both sides of every branch taken.
    pub trace: Trace,
    /// Every function call of the template itself, in order.
    pub calls: Vec<CallSite>,
    /// Every template it names in `template`, `block`, or in `include` with a constant name.
    pub templates: Vec<TemplateUse>,
}

/// A function call as written.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// The function.
    pub function: &'static Func,
    /// How many arguments, a piped one included.
    pub arguments: usize,
    /// Whether that number is one the function takes.
    pub arity_fits: bool,
    /// Where.
    pub site: Site,
}

/// A template named by another.
#[derive(Clone, Debug)]
pub struct TemplateUse {
    /// Its name.
    pub name: String,
    /// What follows the name in an `include`, if that is a constant text too.
    pub then: Option<String>,
    /// Whether it stands in an action that prints, and not in one that sets a variable or decides
    /// on a branch.
    pub prints: bool,
    /// Where it is named.
    pub site: Site,
}

/// What a template calls, as it is written.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// Every function call, in order.
    pub calls: Vec<CallSite>,
    /// Every template it names in `template`, `block`, or in `include` with a constant name.
    pub templates: Vec<TemplateUse>,
}

impl Set {
    /// The calls of a template, which is not run.
    pub fn outline(&self, name: &str) -> Outline {
        let mut outline = Outline::default();
        if let Some(tree) = self.trees.get(name) {
            Walk {
                tree,
                lines: line_starts(&tree.source),
                outline: &mut outline,
                prints: false,
            }
            .list(&tree.root);
        }
        outline
    }

    /// Looks at a template without any data.
    pub fn analyze(&self, name: &str) -> Result<Analysis, Box<Error>> {
        self.analyze_within(name, &Meter::default())
    }

    /// The same with a budget.
    pub fn analyze_within(&self, name: &str, meter: &Meter<'_>) -> Result<Analysis, Box<Error>> {
        let nothing_known = |_: &crate::trace::Path| Known::Not;
        let run = Run {
            host: &Still,
            watch: Watch::Guessing(&nothing_known),
            meter: Some(meter),
            ..Run::new(self)
        };
        let output = run.execute(name, &Input::new(&Json::Null))?;
        let Outline { calls, templates } = self.outline(name);
        Ok(Analysis {
            trace: output.trace.unwrap_or_default(),
            calls,
            templates,
        })
    }
}

struct Walk<'w> {
    tree: &'w Tree,
    lines: Vec<usize>,
    outline: &'w mut Outline,
    prints: bool,
}

impl Walk<'_> {
    fn site(&self, offset: usize) -> Site {
        let (line, column) = line_column_by(&self.lines, offset);
        let (source, template) = (
            (&*self.tree.source_name).into(),
            self.tree.name.as_str().into(),
        );
        Site {
            source,
            template,
            offset,
            line,
            column,
        }
    }

    fn list(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Text(_) | Node::Break(_) | Node::Continue(_) => {}
                Node::Action(action) => {
                    self.prints = action.pipe.declared.is_empty();
                    self.pipe(&action.pipe);
                    self.prints = false;
                }
                Node::Branch(branch) => {
                    self.pipe(&branch.pipe);
                    self.list(&branch.list);
                    self.list(branch.otherwise.as_deref().unwrap_or_default());
                }
                Node::Template(template) => {
                    let site = self.site(template.at);
                    self.outline.templates.push(TemplateUse {
                        name: template.name.clone(),
                        then: None,
                        prints: true,
                        site,
                    });
                    if let Some(pipe) = &template.pipe {
                        self.pipe(pipe);
                    }
                }
            }
        }
    }

    fn pipe(&mut self, pipe: &Pipe) {
        for (stage, command) in pipe.commands.iter().enumerate() {
            for (index, word) in command.words.iter().enumerate() {
                let arguments = if index == 0 {
                    command.words.len() - 1 + usize::from(stage > 0)
                } else {
                    0
                };
                self.expr(word, arguments);
            }
            if let [Expr::Function(at, func), Expr::Text(name), ..] = command.words.as_slice()
                && func.name == "include"
            {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let then = match command.words.get(2) {
                    Some(Expr::Text(then)) => Some(text(&then.bytes)),
                    _ => None,
                };
                let site = self.site(*at);
                self.outline.templates.push(TemplateUse {
                    name: text(&name.bytes),
                    then,
                    prints: self.prints,
                    site,
                });
            }
        }
    }

    fn expr(&mut self, expr: &Expr, arguments: usize) {
        match expr {
            Expr::Function(at, func) => {
                let fixed = func.params.len();
                let arity_fits = if func.rest.is_some() {
                    arguments >= fixed
                } else {
                    arguments == fixed
                };
                let site = self.site(*at);
                self.outline.calls.push(CallSite {
                    function: func,
                    arguments,
                    arity_fits,
                    site,
                });
            }
            Expr::Pipe(pipe) => self.pipe(pipe),
            Expr::Chain(chain) => self.expr(&chain.inner, 0),
            _ => {}
        }
    }
}
