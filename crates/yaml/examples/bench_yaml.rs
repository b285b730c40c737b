//! What reading and writing cost here, on a Deployment and on a large CustomResourceDefinition: a
//! JSON line each, in the words of `tools/yaml-oracle bench`, which says the same for Go; `cargo
//! xtask bench templates` compares them.
//!
//! `cargo run --profile dist -p yaml --example bench_yaml [-- FILE...]` measures the files instead;
//! with `--write DIR` the two documents are written there, so that `yaml-oracle bench` can be given
//! the same.
#![allow(clippy::print_stdout, clippy::expect_used)]

#[path = "support/stopwatch.rs"]
mod stopwatch;

use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;

use serde_json::{Value, json};

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

/// The best of some rounds, as noise only adds.
fn bench(name: &str, text: &str) -> Value {
    let read = || drop(black_box(yaml::parse(black_box(text)).ok()));
    let value = yaml::parse(text).expect("the text is YAML");
    let write = || drop(black_box(yaml::emit(black_box(&value)).ok()));
    let allocs = |work: &dyn Fn()| allocation_counter::measure(work).count_total;
    json!({
        "case": name,
        "bytes": text.len(),
        "read_ns": stopwatch::best(read),
        "read_allocs": allocs(&read),
        "write_ns": stopwatch::best(write),
        "write_allocs": allocs(&write),
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts = [
        ("deployment.yaml", DEPLOYMENT.to_owned()),
        ("crd.yaml", large()),
    ];
    match arguments.as_slice() {
        [flag, dir] if flag == "--write" => {
            for (name, text) in texts {
                std::fs::write(Path::new(dir).join(name), text)
                    .expect("the directory can be written");
            }
        }
        [] => texts
            .iter()
            .for_each(|(name, text)| println!("{}", bench(name, text))),
        files => {
            for file in files {
                println!(
                    "{}",
                    bench(
                        file,
                        &std::fs::read_to_string(file).expect("the file can be read")
                    )
                );
            }
        }
    }
}
