//! The arguments of a suite: those of libtest that make sense here; the others are taken and
//! ignored, since `cargo test -- ...` gives the same arguments to every test program.

/// Scenarios at once: more of them would wait for each other on a small machine, until their
/// patience ends.
const THREADS: usize = 4;

/// What to run, and how many at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) list: bool,
    pub(super) threads: usize,
    exact: bool,
    ignored_only: bool,
    filters: Vec<String>,
    skips: Vec<String>,
}

impl Options {
    pub(super) fn parse(args: impl IntoIterator<Item = String>) -> Self {
        let mut options = Self {
            list: false,
            threads: THREADS,
            exact: false,
            ignored_only: false,
            filters: vec![],
            skips: vec![],
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let (name, mut value) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    (name.to_owned(), Some(value.to_owned()))
                }
                _ => (arg, None),
            };
            let mut valued = || value.take().or_else(|| args.next()).unwrap_or_default();
            match name.as_str() {
                "--list" => options.list = true,
                "--exact" => options.exact = true,
                "--ignored" => options.ignored_only = true,
                "--skip" => options.skips.push(valued()),
                "--test-threads" => {
                    options.threads = valued().parse().unwrap_or(options.threads).max(1);
                }
                "--format" | "--color" | "--logfile" | "--shuffle-seed" | "-Z" => drop(valued()),
                other if other.starts_with('-') => {}
                _ => options.filters.push(name),
            }
        }
        options
    }

    /// Whether the scenario of this full name is to run.
    pub(super) fn wants(&self, name: &str) -> bool {
        let matches = |pattern: &String| {
            if self.exact {
                name == pattern
            } else {
                name.contains(pattern.as_str())
            }
        };
        !self.ignored_only
            && (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.skips.iter().any(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_choose_scenarios_as_libtests_do() {
        let table = [
            ("", "a::b", true),
            ("b", "a::b", true),
            ("c", "a::b", false),
            ("c b", "a::b", true),
            ("--skip b", "a::b", false),
            ("--skip=b a", "a::b", false),
            ("--exact a", "a::b", false),
            ("--exact a::b", "a::b", true),
            ("--ignored", "a::b", false),
            ("--nocapture --color never b", "a::b", true),
            ("--format pretty --test-threads 2", "a::b", true),
        ];
        for (args, name, expect) in table {
            let options = Options::parse(args.split_whitespace().map(str::to_owned));
            assert_eq!(options.wants(name), expect, "{args}");
        }
    }

    #[test]
    fn the_number_of_threads_is_at_least_one() {
        for (args, expect) in [
            ("--test-threads=3", 3),
            ("--test-threads 0", 1),
            ("--test-threads x", 4),
            ("", 4),
        ] {
            assert_eq!(
                Options::parse(args.split_whitespace().map(str::to_owned)).threads,
                expect,
                "{args}"
            );
        }
    }
}
