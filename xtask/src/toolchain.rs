//! The machine's Go: whether it is there, works and is new enough, and what of it goes into a cache
//! key.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow, bail};

/// What Go is wanted for, in the words of the errors when it cannot be had.
pub struct Purpose {
    /// What is built.
    pub what: &'static str,
    /// Another way than installing Go, behind `install Go ... and put it on PATH`; may be empty.
    pub otherwise: &'static str,
}

/// A Go toolchain that can build a module.
pub struct Toolchain {
    /// Such as `go1.26.8`.
    pub version: String,
    /// `GOOS` of the binaries.
    pub os: String,
    /// `GOARCH` of the binaries.
    pub arch: String,
    /// `GOCACHE`, where the space of a cold build goes.
    pub build_cache: PathBuf,
}

impl Toolchain {
    /// Asks `go` in the module's directory, so that a `toolchain` line or `GOTOOLCHAIN` has its
    /// say.
    pub fn find(module: &Path, purpose: &Purpose) -> Result<Self> {
        let wanted = wanted(module)?;
        let what = purpose.what;
        let hint = format!(
            "hint: install Go {wanted} or newer and put `go` on PATH{}",
            purpose.otherwise
        );
        let output = go(module)
            .args(["env", "-json", "GOVERSION", "GOOS", "GOARCH", "GOCACHE"])
            .output();
        let output = match output {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("building {what} needs Go, and there is no `go` on PATH\n{hint}")
            }
            Err(error) => bail!("`go` does not start: {error}\n{hint}"),
        };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(
                "`go env` fails ({}): {}\n{hint}",
                output.status,
                said.trim()
            );
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let found = Self::parse(&said)
            .map_err(|error| anyhow!("`go env` makes no sense: {error}\n{hint}"))?;
        if numbers(&found.version) < numbers(&wanted) {
            bail!(
                "the Go here is {}, but building {what} needs {wanted} or newer\n{hint}",
                found.version
            );
        }
        Ok(found)
    }

    fn parse(json: &str) -> Result<Self> {
        let value: serde_json::Value = serde_json::from_str(json)?;
        let field = |name: &str| {
            let text = value
                .get(name)
                .and_then(serde_json::Value::as_str)
                .filter(|text| !text.is_empty());
            text.map(str::to_owned)
                .with_context(|| format!("no {name}"))
        };
        Ok(Self {
            version: field("GOVERSION")?,
            os: field("GOOS")?,
            arch: field("GOARCH")?,
            build_cache: field("GOCACHE")?.into(),
        })
    }
}

/// `go` as every call here runs it: in the module, and deaf to settings that would change what
/// comes out.
pub fn go(module: &Path) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(module)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GOFLAGS", "");
    command
}

/// The version in the `go` line of `go.mod`.
fn wanted(module: &Path) -> Result<String> {
    let path = module.join("go.mod");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("go "));
    Ok(line
        .with_context(|| format!("{} has no `go` line", path.display()))?
        .trim()
        .to_owned())
}

/// The version that a `require` line gives a module.
pub fn required(go_mod: &str, module: &str) -> Option<String> {
    go_mod.lines().find_map(|line| {
        let line = line.trim();
        let mut words = line
            .strip_prefix("require ")
            .unwrap_or(line)
            .split_whitespace();
        let version = (words.next() == Some(module))
            .then(|| words.next())
            .flatten()?;
        version.starts_with('v').then(|| version.to_owned())
    })
}

/// `go1.26.8` as numbers that compare; what follows them (`rc1`, an experiment) does not matter
/// here.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.trim_start_matches("go").split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    });
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        for (older, newer) in [
            ("go1.9", "go1.26.0"),
            ("go1.26.0", "go1.26.8"),
            ("go1.26rc1", "go1.26.1"),
            ("devel", "1.26.0"),
        ] {
            assert!(numbers(older) < numbers(newer), "{older} < {newer}");
        }
        assert_eq!(numbers("go1.26.8 X:nodwarf5"), [1, 26, 8]);
    }

    #[test]
    fn an_answer_with_a_field_missing_is_refused() {
        assert!(
            Toolchain::parse(r#"{"GOVERSION":"go1.26","GOOS":"linux","GOARCH":"","GOCACHE":"/c"}"#)
                .is_err()
        );
        assert!(Toolchain::parse("not json").is_err());
    }
}
