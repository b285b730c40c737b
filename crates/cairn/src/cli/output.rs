//! What can be typed after `-o`.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::terminal::error::Failure;

/// How a report is written for programs; without it, it is for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    #[default]
    Yaml,
}

/// How objects, and what else a command made, are written; without it, as people like to read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Objects {
    Json,
    Yaml,
    /// Kind and name alone, as `kubectl -o name` has them; of what is no object its name
    Name,
}

/// How what a command made or took away is told.
#[derive(Args, Debug)]
pub(crate) struct Outcome {
    /// How to write what became of it [default: for people]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Objects>,
}

/// What `-o` means where it also names a place: the place, or how to tell what was made there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Place(PathBuf),
    Told(Objects),
}

impl FromStr for Target {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Target, Infallible> {
        // A file that is called so can be written as ./json.
        let format = Objects::from_str(text, false).ok();
        Ok(format.map_or_else(|| Target::Place(PathBuf::from(text)), Target::Told))
    }
}

impl Target {
    /// The place and the format, each of which may be said once.
    pub fn split(said: &[Target]) -> Result<(Option<&Path>, Option<Objects>), Failure> {
        let (mut place, mut format) = (None, None);
        for target in said {
            let twice = match target {
                Target::Place(path) => place.replace(path.as_path()).is_some(),
                Target::Told(told) => format.replace(*told).is_some(),
            };
            if twice {
                return Err(Failure::usage("`-o` names two places, or two formats")
                    .hint("say it once for the place and once for json, yaml or name"));
            }
        }
        Ok((place, format))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Objects, Target};

    #[test]
    fn a_format_is_a_format_and_anything_else_is_a_place() {
        let web = Some(Path::new("web.tar"));
        for (said, expected) in [
            (&[][..], Some((None, None))),
            (&["web.tar"], Some((web, None))),
            (&["json"], Some((None, Some(Objects::Json)))),
            (&["name", "web.tar"], Some((web, Some(Objects::Name)))),
            (&["./yaml"], Some((Some(Path::new("./yaml")), None))),
            (&["json", "yaml"], None),
            (&["web.tar", "shop.tar"], None),
        ] {
            let targets: Vec<Target> = said.iter().filter_map(|text| text.parse().ok()).collect();
            assert_eq!(Target::split(&targets).ok(), expected, "{said:?}");
        }
    }
}
