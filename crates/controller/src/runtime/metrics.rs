//! Numbers about what a controller does, in the text that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Numbers that are counted while a controller works. Clones count into the same.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Mutex<BTreeMap<&'static str, Family>>>);

#[derive(Debug)]
struct Family {
    help: &'static str,
    kind: Kind,
    /// By labels, as they are written.
    values: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Summary,
    Histogram,
}

#[derive(Debug, Default)]
struct Value {
    count: u64,
    sum: f64,
    /// Of a histogram: how many were within each bound.
    within: [u64; BOUNDS.len()],
}

/// The bounds of a histogram, in seconds.
const BOUNDS: [f64; 14] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
];

impl Metrics {
    /// One more.
    pub fn count(&self, name: &'static str, help: &'static str, labels: &[(&str, &str)]) {
        let mut families = self.lock();
        let value = family(&mut families, name, help, Kind::Counter)
            .values
            .entry(written(labels))
            .or_default();
        value.count += 1;
    }

    /// So much, now.
    pub fn gauge(&self, name: &'static str, help: &'static str, labels: &[(&str, &str)], now: f64) {
        let mut families = self.lock();
        family(&mut families, name, help, Kind::Gauge)
            .values
            .entry(written(labels))
            .or_default()
            .sum = now;
    }

    /// It took so long.
    pub fn took(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        time: Duration,
    ) {
        let mut families = self.lock();
        let value = family(&mut families, name, help, Kind::Summary)
            .values
            .entry(written(labels))
            .or_default();
        value.count += 1;
        value.sum += time.as_secs_f64();
    }

    /// It took so long, and how long it takes is worth knowing closely.
    pub fn observe(&self, name: &'static str, help: &'static str, time: Duration) {
        let mut families = self.lock();
        let value = family(&mut families, name, help, Kind::Histogram)
            .values
            .entry(String::new())
            .or_default();
        let seconds = time.as_secs_f64();
        value.count += 1;
        value.sum += seconds;
        let bounds = BOUNDS.iter().zip(&mut value.within);
        bounds
            .filter(|(bound, _)| seconds <= **bound)
            .for_each(|(_, within)| *within += 1);
    }

    /// All of them, as Prometheus reads them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, family) in self.lock().iter() {
            let kind = match family.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Summary => "summary",
                Kind::Histogram => "histogram",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help);
            for (labels, value) in &family.values {
                let _ = match family.kind {
                    Kind::Counter => writeln!(text, "{name}{labels} {}", value.count),
                    Kind::Gauge => writeln!(text, "{name}{labels} {}", value.sum),
                    Kind::Histogram => {
                        for (bound, within) in BOUNDS.iter().zip(value.within) {
                            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {within}");
                        }
                        let (sum, count) = (value.sum, value.count);
                        writeln!(
                            text,
                            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
                        )
                    }
                    Kind::Summary => {
                        writeln!(
                            text,
                            "{name}_sum{labels} {}\n{name}_count{labels} {}",
                            value.sum, value.count
                        )
                    }
                };
            }
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Family>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn family<'f>(
    families: &'f mut BTreeMap<&'static str, Family>,
    name: &'static str,
    help: &'static str,
    kind: Kind,
) -> &'f mut Family {
    families.entry(name).or_insert_with(|| Family {
        help,
        kind,
        values: BTreeMap::new(),
    })
}

fn written(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let escaped = |text: &str| {
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    };
    let pairs: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Metrics;

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let metrics = Metrics::default();
        metrics.count(
            "a_total",
            "So many.",
            &[("verb", "get"), ("why", "a \"b\"")],
        );
        metrics.clone().count(
            "a_total",
            "So many.",
            &[("verb", "get"), ("why", "a \"b\"")],
        );
        metrics.gauge("b", "Now.", &[], 3.0);
        metrics.took("c_seconds", "Long.", &[], Duration::from_millis(500));
        let expected = "\
# HELP a_total So many.
# TYPE a_total counter
a_total{verb=\"get\",why=\"a \\\"b\\\"\"} 2
# HELP b Now.
# TYPE b gauge
b 3
# HELP c_seconds Long.
# TYPE c_seconds summary
c_seconds_sum 0.5
c_seconds_count 1
";
        assert_eq!(metrics.text(), expected);
        metrics.observe("d_seconds", "Closely.", Duration::from_millis(3));
        metrics.observe("d_seconds", "Closely.", Duration::from_secs(60));
        let text = metrics.text();
        for line in [
            "# TYPE d_seconds histogram",
            "d_seconds_bucket{le=\"0.002\"} 0",
            "d_seconds_bucket{le=\"0.005\"} 1",
            "d_seconds_bucket{le=\"30\"} 1",
            "d_seconds_bucket{le=\"+Inf\"} 2",
            "d_seconds_count 2",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
