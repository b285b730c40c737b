//! What each case costs on both sides: the best of all turns.

use anyhow::{Context, Result};
use serde_json::Value;

/// The price of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Nanoseconds of processor time.
    pub time: u64,
    /// How often memory was asked for.
    pub allocations: u64,
}

/// A case, with the cost of each of the two phases in Go and here.
#[derive(Default)]
pub struct Row {
    /// The name of the case.
    pub case: String,
    /// What Go needs, by phase.
    pub go: [Option<Cost>; 2],
    /// What we need, by phase.
    pub ours: [Option<Cost>; 2],
}

/// All cases of one kind of benchmark, in the order they were first seen.
pub struct Tally {
    /// The two things that are measured, as the programs call them: `PHASE_ns`, `PHASE_allocs`.
    pub phases: [&'static str; 2],
    /// The cases.
    pub rows: Vec<Row>,
}

impl Tally {
    /// A tally of nothing.
    pub fn new(phases: [&'static str; 2]) -> Self {
        Self {
            phases,
            rows: Vec::new(),
        }
    }

    /// Adds what a benchmark in Go printed: a JSON object a line.
    pub fn go(&mut self, lines: &str) -> Result<()> {
        self.add(lines, |row| &mut row.go)
    }

    /// Adds what one of ours printed.
    pub fn ours(&mut self, lines: &str) -> Result<()> {
        self.add(lines, |row| &mut row.ours)
    }

    fn add(
        &mut self,
        lines: &str,
        side: impl Fn(&mut Row) -> &mut [Option<Cost>; 2],
    ) -> Result<()> {
        for line in lines.lines() {
            let value: Value = serde_json::from_str(line)
                .with_context(|| format!("not a line of JSON: {line}"))?;
            let number = |field: String| {
                value
                    .get(&field)
                    .and_then(Value::as_u64)
                    .with_context(|| format!("no {field} in {line}"))
            };
            let case = value
                .get("case")
                .and_then(Value::as_str)
                .with_context(|| format!("no case in {line}"))?;
            let row = match self.rows.iter().position(|row| row.case == case) {
                Some(at) => &mut self.rows[at],
                None => {
                    self.rows.push(Row {
                        case: case.to_owned(),
                        ..Row::default()
                    });
                    let last = self.rows.len() - 1;
                    &mut self.rows[last]
                }
            };
            for (phase, cost) in self.phases.iter().zip(side(row)) {
                let new = Cost {
                    time: number(format!("{phase}_ns"))?,
                    allocations: number(format!("{phase}_allocs"))?,
                };
                if cost.is_none_or(|old| new.time < old.time) {
                    *cost = Some(new);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(case: &str, parse: u64, exec: u64) -> String {
        format!(
            r#"{{"case":"{case}","parse_ns":{parse},"parse_allocs":1,"exec_ns":{exec},"exec_allocs":2}}"#
        )
    }

    #[test]
    fn the_best_of_each_phase_counts_whichever_turn_it_was_in() {
        let mut tally = Tally::new(["parse", "exec"]);
        tally
            .go(&format!("{}\n{}\n", line("a", 9, 5), line("b", 1, 1)))
            .unwrap();
        tally.go(&line("a", 7, 6)).unwrap();
        tally.ours(&line("a", 3, 4)).unwrap();
        let times = |side: [Option<Cost>; 2]| side.map(|cost| cost.map(|cost| cost.time));
        assert_eq!(times(tally.rows[0].go), [Some(7), Some(5)]);
        assert_eq!(times(tally.rows[0].ours), [Some(3), Some(4)]);
        assert_eq!(
            (tally.rows[1].case.as_str(), times(tally.rows[1].ours)),
            ("b", [None, None])
        );
    }

    #[test]
    fn a_line_that_lacks_something_is_refused_by_name() {
        let mut tally = Tally::new(["parse", "exec"]);
        for (line, part) in [
            ("x", "not a line of JSON"),
            ("{}", "no case"),
            (r#"{"case":"a"}"#, "no parse_ns"),
        ] {
            let error = tally.go(line).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
