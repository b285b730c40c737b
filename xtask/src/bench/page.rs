//! The tables of a comparison as Markdown, and the page of the documentation that keeps the last of
//! them.

use std::{fmt::Write as _, fs, process::Command, thread};

use anyhow::{Context, Result};

use super::tally::{Cost, Tally};
use crate::{cache, oracle};

const PAGE: &str = "docs/benchmarks.md";
const END: &str = "<!-- end -->\n";

/// The place of a benchmark's tables on the page.
pub struct Place(&'static str);

impl Place {
    /// Named by what follows `cargo xtask bench`.
    pub const fn of(name: &'static str) -> Self {
        Self(name)
    }

    fn begin(&self) -> String {
        format!("<!-- begin: cargo xtask bench {} --write -->\n", self.0)
    }
}

/// What the numbers depend on beside the programs.
pub struct Machine {
    /// One line: cores, system, versions.
    facts: String,
}

impl Machine {
    /// Looks at this one; it has no name.
    pub fn look(go: &str) -> Result<Self> {
        let libraries = oracle::libraries()?;
        Ok(Self {
            facts: format!("{}; {go} with {libraries}", machine()?),
        })
    }
}

/// System, cores and compiler.
pub fn machine() -> Result<String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .context("cannot run rustc")?;
    let rustc = String::from_utf8_lossy(&output.stdout);
    let rustc: Vec<&str> = rustc.split_whitespace().take(2).collect();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    Ok(format!("{os} {arch}, {cores} cores; {}", rustc.join(" ")))
}

/// The tables.
pub fn render(templates: &Tally, yaml: &Tally, machine: &Machine) -> String {
    let mut page = format!("{}.\n", machine.facts);
    table(&mut page, "template", ["parse", "execute"], templates);
    table(&mut page, "YAML", ["read", "write"], yaml);
    page
}

fn table(page: &mut String, subject: &str, phases: [&str; 2], tally: &Tally) {
    let [first, second] = phases;
    let _ = write!(
        page,
        "\n| {subject} | {first}: Go | Cairn | times as fast | {second}: Go | Cairn | times as fast \
         | allocations, {first}: Go | Cairn | {second}: Go | Cairn |\n|---{}|\n",
        "|--:".repeat(10)
    );
    for row in &tally.rows {
        let mut cells = vec![row.case.clone()];
        for (go, ours) in row.go.iter().zip(&row.ours) {
            cells.extend([shown(*go), shown(*ours), ratio(*go, *ours)]);
        }
        for (go, ours) in row.go.iter().zip(&row.ours) {
            cells.extend(
                [*go, *ours]
                    .map(|cost| cost.map_or("-".to_owned(), |cost| cost.allocations.to_string())),
            );
        }
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

fn shown(cost: Option<Cost>) -> String {
    let Some(Cost { time, .. }) = cost else {
        return "-".to_owned();
    };
    match time {
        0..100_000 => format!("{:.1} µs", time as f64 / 1e3),
        100_000..10_000_000 => format!("{} µs", time / 1000),
        _ => format!("{:.1} ms", time as f64 / 1e6),
    }
}

fn ratio(go: Option<Cost>, ours: Option<Cost>) -> String {
    match (go, ours) {
        (Some(go), Some(ours)) if ours.time > 0 => {
            format!("{:.1}", go.time as f64 / ours.time as f64)
        }
        _ => "-".to_owned(),
    }
}

/// Puts the tables in the place of the last ones.
pub fn write(place: &Place, tables: &str) -> Result<()> {
    let path = cache::repository().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let page = replaced(&page, place, tables)
        .with_context(|| format!("{PAGE} has no place for the tables: {}", place.begin()))?;
    fs::write(&path, page).with_context(|| format!("cannot write {PAGE}"))
}

fn replaced(page: &str, place: &Place, tables: &str) -> Option<String> {
    let begin = place.begin();
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{begin}\n{tables}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_take_the_place_of_the_last_ones_and_nothing_else() {
        let place = Place::of("this");
        let begin = place.begin();
        let page = format!("# Title\n{begin}old\n{END}\nThe rest.\n");
        assert_eq!(
            replaced(&page, &place, "new").unwrap(),
            format!("# Title\n{begin}\nnew\n{END}\nThe rest.\n")
        );
        assert!(replaced("no markers", &place, "new").is_none());
        let real = fs::read_to_string(cache::repository().join(PAGE)).unwrap();
        for name in ["templates", "apiserver"] {
            assert!(
                replaced(&real, &Place::of(name), "new").is_some(),
                "{PAGE} has the markers of {name}"
            );
        }
    }

    #[test]
    fn a_row_shows_times_ratios_and_allocations_and_a_dash_for_what_is_unknown() {
        let mut tally = Tally::new(["parse", "exec"]);
        tally.go(r#"{"case":"a","parse_ns":30000,"parse_allocs":10,"exec_ns":1500000,"exec_allocs":20}"#).unwrap();
        let machine = Machine {
            facts: "a machine".into(),
        };
        let empty = Tally::new(["read", "write"]);
        let half = render(&tally, &empty, &machine);
        assert!(
            half.contains("| a | 30.0 µs | - | - | 1500 µs | - | - | 10 | - | 20 | - |"),
            "{half}"
        );
        tally
            .ours(
                r#"{"case":"a","parse_ns":8000,"parse_allocs":1,"exec_ns":500000,"exec_allocs":2}"#,
            )
            .unwrap();
        let whole = render(&tally, &empty, &machine);
        assert!(
            whole.contains(
                "| a | 30.0 µs | 8.0 µs | 3.8 | 1500 µs | 500 µs | 3.0 | 10 | 1 | 20 | 2 |"
            ),
            "{whole}"
        );
        let columns = |line: &str| line.matches('|').count();
        let lines: Vec<usize> = whole
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(columns)
            .collect();
        assert!(lines.iter().all(|count| *count == 12), "{lines:?}");
    }
}
