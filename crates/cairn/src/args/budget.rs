//! What can be typed of how much templates may cost.

use std::time::Duration;

use clap::Args;
use engine::budget::{self, Limits};

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

    /// Work that compiling the stack's templates may take, in the same units
    #[arg(
        long,
        value_name = "UNITS",
        default_value_t = budget::COMPILE.work,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub compile_budget: u64,

    /// Timeout in seconds for compiling the stack's templates
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
        Limits { work: self.render_budget, time: Duration::from_secs(self.render_timeout), ..budget::RENDER }
    }

    pub fn compile(&self) -> Limits {
        Limits { work: self.compile_budget, time: Duration::from_secs(self.compile_timeout), ..budget::COMPILE }
    }
}
