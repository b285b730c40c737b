//! What can be typed of how much templates may cost, and of how much each namespace may have.

use std::time::Duration;

use clap::Args;
use controller::stack_manager::Bounds;
use engine::budget::{self, Budgets, Limits};
use engine::limits::InstanceLimits;

use crate::terminal::error::Failure;

/// How much compiling a stack and rendering an instance may cost.
#[derive(Args, Debug)]
pub(crate) struct Budget {
    /// Work that rendering one instance may take, in units of about a nanosecond
    #[arg(
        long,
        value_name = "UNITS",
        default_value_t = budget::RENDER.work,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub render_budget: u64,

    /// Timeout in seconds for rendering one instance
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = budget::RENDER.time.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub render_timeout: u64,

    /// Work that compiling a stack's templates may take, in the same units
    #[arg(
        long,
        value_name = "UNITS",
        default_value_t = budget::COMPILE.work,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub compile_budget: u64,

    /// Timeout in seconds for compiling a stack's templates
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = budget::COMPILE.time.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub compile_timeout: u64,
}

impl Budget {
    pub fn render(&self) -> Limits {
        Limits {
            work: self.render_budget,
            time: Duration::from_secs(self.render_timeout),
            ..budget::RENDER
        }
    }

    pub fn compile(&self) -> Limits {
        Limits {
            work: self.compile_budget,
            time: Duration::from_secs(self.compile_timeout),
            ..budget::COMPILE
        }
    }

    pub fn budgets(&self) -> Budgets {
        Budgets {
            render: self.render(),
            compile: self.compile(),
        }
    }
}

/// How much of a stack manager each namespace and each stack may have.
#[derive(Args, Debug)]
pub(crate) struct Capacity {
    /// Limits per namespace: installs=100,stacks=100,instances=10000,package-bytes=256Mi;
    /// `unlimited` lifts one
    #[arg(long, value_name = "LIMITS", value_delimiter = ' ')]
    pub limits: Vec<String>,

    /// Timeout in seconds for a whole pull, retries included
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = registry::PULL_TIMEOUT.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub pull_timeout: u64,

    /// How many instances each stack serves: in a chain of instances that make instances, made by
    /// one instance, in one namespace, and in all
    #[arg(long, value_name = "LIMITS", default_value_t = InstanceLimits::default())]
    pub instance_limits: InstanceLimits,

    #[command(flatten)]
    pub budget: Budget,
}

impl Capacity {
    /// The bounds of the stack manager.
    pub fn bounds(&self) -> Result<Bounds, Failure> {
        let mut limits = install::Limits::default();
        for text in &self.limits {
            limits = limits
                .read(text)
                .map_err(|why| Failure::usage(format!("--limits: {why}")))?;
        }
        let pull_timeout = Duration::from_secs(self.pull_timeout);
        Ok(Bounds {
            limits,
            pull_timeout,
            compile: self.budget.compile(),
            ..Bounds::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use controller::stack_manager::Bounds;
    use engine::budget::{self, Budgets};

    use super::Capacity;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        capacity: Capacity,
    }

    fn typed(text: &str) -> Capacity {
        Typed::try_parse_from(["cairn"].into_iter().chain(text.split_whitespace()))
            .unwrap()
            .capacity
    }

    #[test]
    fn what_is_not_typed_is_as_in_the_one_place_for_defaults() {
        let capacity = typed("");
        assert_eq!(capacity.budget.budgets(), Budgets::default());
        let (bounds, usual) = (capacity.bounds().unwrap(), Bounds::default());
        assert_eq!(
            (bounds.limits, bounds.compile),
            (usual.limits, usual.compile)
        );
        assert_eq!(bounds.pull_timeout, usual.pull_timeout);
    }

    #[test]
    fn what_is_typed_reaches_the_manager_and_its_children() {
        let text = "--render-budget 5 --render-timeout 6 --compile-budget 7 --compile-timeout 8";
        let capacity = typed(&format!("{text} --limits instances=9 --pull-timeout 10"));
        assert_eq!(capacity.budget.budgets().options().join(" "), text);
        let bounds = capacity.bounds().unwrap();
        assert_eq!((bounds.compile.work, bounds.compile.time.as_secs()), (7, 8));
        assert_eq!(
            (bounds.limits.instances, bounds.pull_timeout.as_secs()),
            (9, 10)
        );
        assert!(typed("--limits pods=1").bounds().is_err());
    }

    #[test]
    fn the_page_of_limits_says_what_the_code_does() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md"));
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let grouped = |number: u64| {
            let digits = number.to_string();
            let groups: Vec<&str> = digits
                .as_bytes()
                .rchunks(3)
                .rev()
                .filter_map(|part| str::from_utf8(part).ok())
                .collect();
            groups.join(",")
        };
        let mebi = |bytes: u64| format!("{} MiB", bytes >> 20);
        let row = |limits: &budget::Limits| {
            format!(
                "| {} | {} | {} s |",
                grouped(limits.work),
                mebi(limits.bytes),
                limits.time.as_secs()
            )
        };
        let (bounds, image) = (Bounds::default(), package::image::Limits::default());
        let install::Limits {
            installs,
            stacks,
            instances,
            package_bytes,
        } = bounds.limits;
        for said in [
            row(&budget::RENDER),
            row(&budget::COMPILE),
            format!(
                "`installs={installs},stacks={stacks},instances={instances},package-bytes={}Mi`",
                package_bytes >> 20
            ),
            format!("`{}`", engine::limits::InstanceLimits::default()),
            format!("| pulls at a time | {} |", bounds.pulls),
            format!("| for one namespace | {} |", bounds.pulls_per_namespace),
            format!("| from one registry | {} |", bounds.pulls_per_registry),
            format!("| a whole pull | {} s |", bounds.pull_timeout.as_secs()),
            format!("| a layer, compressed | {} |", mebi(registry::LAYER_BYTES)),
            format!("| all layers, unpacked | {} |", mebi(image.unpacked)),
            format!("| files of a package | {} |", grouped(image.files as u64)),
            format!("| a file of a package | {} |", mebi(image.file)),
            format!("| all files of a package | {} |", mebi(image.total)),
            format!("| cache on disk | {} |", mebi(registry::STORE_BYTES)),
        ] {
            assert!(page.contains(&said), "docs/limits.md does not say: {said}");
        }
    }
}
