//! Measures reading and writing in MB/s, on a Deployment and on a large CustomResourceDefinition.
//!
//! `cargo run --release -p yaml --example bench [-- FILE...]` measures the files instead; with `--write DIR` the two
//! documents are written there, so that `yaml-oracle bench` can be given the same.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  labels:
    app.kubernetes.io/name: web
    app.kubernetes.io/managed-by: cairn
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: web
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web
      annotations:
        prometheus.io/scrape: \"true\"
    spec:
      containers:
      - name: web
        image: \"nginx:1.27\"
        args: [\"--port\", \"8080\"]
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: MODE
          value: production # as in the values
        resources:
          limits: {cpu: 500m, memory: 128Mi}
          requests:
            cpu: 100m
            memory: 64Mi
        command:
        - sh
        - -c
        - |
          set -e
          exec nginx -g 'daemon off;'
";

/// A CustomResourceDefinition of some 700 kB, with the long descriptions that such documents have.
fn large() -> String {
    let mut out = String::from(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n\
         spec:\n  group: example.com\n  names:\n    kind: Thing\n    plural: things\n  scope: Namespaced\n  versions:\n",
    );
    for version in 0..6 {
        let _ = write!(
            out,
            "  - name: v1alpha{version}\n    served: true\n    storage: {}\n    schema:\n      openAPIV3Schema:\n        \
             type: object\n        properties:\n",
            version == 0
        );
        for group in 0..20 {
            let _ = write!(
                out,
                "          group{group}:\n            type: object\n            description: |-\n              Group {group} \
                 holds what belongs together.\n              It may be left out.\n            properties:\n"
            );
            for field in 0..20 {
                let _ = write!(
                    out,
                    "              field{field}:\n                description: 'The field tells how often the thing is \
                     done, as in: every time.'\n                type: string\n                format: int-or-string\n\
                     \x20               default: \"{field}\"\n                maxLength: {}\n                enum:\n\
                     \x20               - Always\n                - IfNotPresent\n                - \"Never\"\n",
                    field * 7
                );
            }
        }
    }
    out
}

fn report(name: &str, what: &str, size: usize, mut work: impl FnMut()) {
    let budget = Duration::from_secs(2);
    let start = Instant::now();
    let mut rounds = 0u32;
    while start.elapsed() < budget {
        work();
        rounds += 1;
    }
    let each = start.elapsed() / rounds;
    println!("{name}: {what}: {:.1} MB/s, {each:?} each", size as f64 / each.as_secs_f64() / 1e6);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut texts = vec![("deployment.yaml".to_owned(), DEPLOYMENT.to_owned()), ("crd.yaml".to_owned(), large())];
    match arguments.as_slice() {
        [] => {}
        [flag, dir] if flag == "--write" => {
            for (name, text) in texts {
                std::fs::write(std::path::Path::new(dir).join(name), text).expect("the directory can be written");
            }
            return;
        }
        files => {
            texts =
                files.iter().map(|f| (f.clone(), std::fs::read_to_string(f).expect("the file can be read"))).collect();
        }
    }
    for (name, text) in texts {
        let value = yaml::parse(&text).expect("the text is YAML");
        report(&name, "read", text.len(), || {
            black_box(yaml::parse(black_box(&text)).ok());
        });
        report(&name, "read strictly", text.len(), || {
            black_box(yaml::parse_strict(black_box(&text)).ok());
        });
        let written = yaml::emit(&value).expect("the value can be written");
        report(&name, "write", written.len(), || {
            black_box(yaml::emit(black_box(&value)).ok());
        });
        report(&name, "write prettily", yaml::emit_pretty(&value).len(), || {
            black_box(yaml::emit_pretty(black_box(&value)));
        });
    }
}
