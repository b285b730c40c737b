//! A tree of objects on the screen: redrawn in place on a terminal, and elsewhere a line for
//! whatever is new.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::Failure;
use super::printer::{Paint, Printer};
use crate::inspect::{Line, Node, State};

/// What was shown last.
#[derive(Default)]
pub(crate) struct Shown {
    lines: usize,
    told: BTreeMap<String, String>,
}

impl Shown {
    /// Shows a tree as it is now.
    pub fn tree(
        &mut self,
        printer: &Printer,
        tree: &Node,
        elapsed: Duration,
    ) -> Result<(), Failure> {
        let lines = tree.lines();
        let Some(width) = printer.screen() else {
            return self.news(printer, &lines, elapsed);
        };
        let column = lines
            .iter()
            .map(|line| chars(&line.branch) + chars(&line.what))
            .max()
            .unwrap_or(0);
        let shown: Vec<String> = lines
            .iter()
            .map(|line| one(printer, line, column, width))
            .collect();
        printer.redraw(self.lines, &shown)?;
        self.lines = shown.len();
        Ok(())
    }

    /// A line for everything that is said for the first time.
    fn news(
        &mut self,
        printer: &Printer,
        lines: &[Line],
        elapsed: Duration,
    ) -> Result<(), Failure> {
        let width = lines
            .iter()
            .map(|line| chars(&line.what))
            .max()
            .unwrap_or(0);
        for line in lines.iter().rev() {
            // Several objects of one template are told apart by their names.
            let place = format!("{} {}", line.path, line.what);
            if self.told.insert(place, line.note.clone()).as_ref() != Some(&line.note) {
                let pad = " ".repeat(width.saturating_sub(chars(&line.what)));
                printer.line(&format!(
                    "  {:>5} ms  {}{pad}  {}",
                    elapsed.as_millis(),
                    line.what,
                    line.note
                ))?;
            }
        }
        Ok(())
    }
}

fn one(printer: &Printer, line: &Line, column: usize, width: usize) -> String {
    let (mark, paint) = match line.state {
        State::Ready => ("✓", Paint::Good),
        State::Coming => ("…", Paint::Coming),
        State::Waiting => ("∙", Paint::Waiting),
        State::Failing => ("✗", Paint::Bad),
    };
    let pad = " ".repeat(column - chars(&line.branch) - chars(&line.what));
    // A line that the terminal breaks would be two when it is drawn over.
    let before = 2 + column + 2 + 2;
    let room = width.saturating_sub(before + 1);
    let note: String = line.note.chars().take(room).collect();
    let what: String = line
        .what
        .chars()
        .take(width.saturating_sub(5 + chars(&line.branch)))
        .collect();
    if before + 1 >= width {
        return format!("  {}{what}", line.branch);
    }
    format!(
        "  {}{what}{pad}  {} {}",
        line.branch,
        printer.painted(paint, mark),
        printer.painted(paint, &note)
    )
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
