//! What exactly is built: the versions `tools/k8s/go.mod` pins, the cache key they give, and the
//! version stamp.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::toolchain::{Toolchain, required};

/// Raised by hand when the way of building changes in a manner that the pins do not show.
const RECIPE: &str = "1";

/// The pinned versions, and the bytes that pin them.
pub struct Pins {
    /// Such as `v1.36.4`.
    pub kubernetes: String,
    /// Such as `v3.6.8`.
    pub etcd: String,
    files: Vec<u8>,
}

impl Pins {
    /// Reads `go.mod` and `go.sum` of the module that pins the binaries.
    pub fn read(module: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = module.join(name);
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let (go_mod, go_sum) = (read("go.mod")?, read("go.sum")?);
        Self::parse(&go_mod, &go_sum)
    }

    fn parse(go_mod: &[u8], go_sum: &[u8]) -> Result<Self> {
        let text = String::from_utf8_lossy(go_mod);
        let version = |module: &str| {
            required(&text, module)
                .with_context(|| format!("tools/k8s/go.mod does not require {module}"))
        };
        let mut files = go_mod.to_vec();
        files.push(0);
        files.extend_from_slice(go_sum);
        Ok(Self {
            kubernetes: version("k8s.io/kubernetes")?,
            etcd: version("go.etcd.io/etcd/server/v3")?,
            files,
        })
    }

    /// A directory name that differs whenever the binaries could.
    pub fn key(&self, toolchain: &Toolchain) -> String {
        let mut hash = Sha256::new();
        for part in [RECIPE, &toolchain.version, &toolchain.os, &toolchain.arch] {
            hash.update(part);
            hash.update([0]);
        }
        hash.update(&self.files);
        let digest: String = hash
            .finalize()
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!(
            "{}-etcd-{}-{}-{}-{digest}",
            self.kubernetes, self.etcd, toolchain.os, toolchain.arch
        )
    }

    /// The linker flags that stamp the version, which otherwise only Kubernetes' own scripts set.
    pub fn ldflags(&self) -> String {
        let mut numbers = self.kubernetes.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or(""), numbers.next().unwrap_or(""));
        let mut flags = String::from("-s -w");
        for package in [
            "k8s.io/component-base/version",
            "k8s.io/client-go/pkg/version",
        ] {
            for (name, value) in [
                ("gitMajor", major),
                ("gitMinor", minor),
                ("gitVersion", &self.kubernetes),
                ("gitTreeState", "clean"),
            ] {
                flags.push_str(&format!(" -X {package}.{name}={value}"));
            }
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_MOD: &str = "module m\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.6.8 // indirect\n\t\
                          k8s.io/kubernetes v1.36.4 // indirect\n)\n\ntool (\n\tgo.etcd.io/etcd/server/v3\n)\n";

    fn toolchain(version: &str, arch: &str) -> Toolchain {
        Toolchain {
            version: version.into(),
            os: "linux".into(),
            arch: arch.into(),
            build_cache: "/".into(),
        }
    }

    #[test]
    fn the_versions_come_from_the_require_lines() {
        let pins = Pins::parse(GO_MOD.as_bytes(), b"").unwrap();
        assert_eq!(
            (pins.kubernetes.as_str(), pins.etcd.as_str()),
            ("v1.36.4", "v3.6.8")
        );
        let single = "tool k8s.io/kubernetes/cmd/kubectl\nrequire k8s.io/kubernetes v1.2.3\n";
        assert_eq!(
            required(single, "k8s.io/kubernetes").as_deref(),
            Some("v1.2.3")
        );
        assert_eq!(
            required("k8s.io/kubernetes => ../fork", "k8s.io/kubernetes"),
            None
        );
    }

    #[test]
    fn a_go_mod_without_kubernetes_is_an_error_that_names_it() {
        let error = Pins::parse(b"module m\n", b"").err().unwrap();
        assert!(error.to_string().contains("k8s.io/kubernetes"), "{error}");
    }

    #[test]
    fn the_key_changes_with_everything_that_changes_the_binaries() {
        let key = |go_mod: &str, go_sum: &str, version: &str, arch: &str| {
            Pins::parse(go_mod.as_bytes(), go_sum.as_bytes())
                .unwrap()
                .key(&toolchain(version, arch))
        };
        let base = key(GO_MOD, "sum", "go1.26.8", "amd64");
        assert!(
            base.starts_with("v1.36.4-etcd-v3.6.8-linux-amd64-"),
            "{base}"
        );
        assert_eq!(base, key(GO_MOD, "sum", "go1.26.8", "amd64"));
        let others = [
            key(
                &GO_MOD.replace("v1.36.4", "v1.36.5"),
                "sum",
                "go1.26.8",
                "amd64",
            ),
            key(&format!("{GO_MOD}\n"), "sum", "go1.26.8", "amd64"),
            key(GO_MOD, "sun", "go1.26.8", "amd64"),
            key(GO_MOD, "sum", "go1.26.9", "amd64"),
            key(GO_MOD, "sum", "go1.26.8", "arm64"),
        ];
        for other in others {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn the_stamp_names_major_minor_and_the_whole_version() {
        let flags = Pins::parse(GO_MOD.as_bytes(), b"").unwrap().ldflags();
        for flag in [
            "version.gitMajor=1 ",
            "version.gitMinor=36 ",
            "component-base/version.gitVersion=v1.36.4",
        ] {
            assert!(flags.contains(flag), "{flag} not in {flags}");
        }
    }
}
