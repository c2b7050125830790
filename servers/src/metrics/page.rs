//! The text of one answer: what the catalogue declares, with the values of a state.
//!
//! The state of a job has the states of its servers below `/servers` ([`SERVER`]). They are on the
//! same page, as each server's own page has them, with labels that tell the servers apart.

use super::catalogue::OF_SERVERS;
use super::family::{Catalogue, Family, Kind, Source};
use serde_json::Value;
use std::fmt::Write;

/// A sample: the values of its labels, and its value.
type Sample = (Vec<String>, f64);

/// Labels of a server's metrics on the page of its job: its number among those of its kind, and
/// its host. An entry of `/servers` has these fields, its `kind` and its `state`.
const SERVER: [&str; 2] = ["server", "host"];

/// The state of a program in the text format of Prometheus.
#[must_use]
pub fn render(catalogue: &Catalogue, state: &Value) -> String {
    let mut text = String::new();
    for family in catalogue.families {
        write_family(&mut text, family, family.labels, samples(family, state));
    }
    let servers = state.get("servers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (kind, catalogue) in OF_SERVERS {
        let of_kind: Vec<(Vec<String>, &Value)> = servers
            .iter()
            .filter(|server| server.get("kind").and_then(Value::as_str) == Some(kind))
            .filter_map(|server| Some((label_values(&SERVER, server), server.get("state")?)))
            .collect();
        for family in catalogue.families {
            let names = [&SERVER[..], family.labels].concat();
            let samples = of_kind.iter().flat_map(|(server, state)| {
                let of_one = samples(family, state).into_iter();
                of_one.map(|(labels, value)| ([server.clone(), labels].concat(), value))
            });
            write_family(&mut text, family, &names, samples.collect());
        }
    }
    text
}

fn write_family(text: &mut String, family: &Family, names: &[&str], samples: Vec<Sample>) {
    if samples.is_empty() {
        return;
    }
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
    };
    let _ = writeln!(text, "# HELP {} {}", family.name, escape_help(family.help));
    let _ = writeln!(text, "# TYPE {} {kind}", family.name);
    for (labels, value) in samples {
        let _ = writeln!(text, "{}{} {value}", family.name, label_set(names, &labels));
    }
}

fn samples(family: &Family, state: &Value) -> Vec<Sample> {
    let list = |path| state.pointer(path).and_then(Value::as_array).into_iter().flatten();
    match family.source {
        Source::Value(path) => {
            sample(family, Vec::new(), state.pointer(path)).into_iter().collect()
        }
        Source::IsSet(path) => {
            let is_set = state.pointer(path).map(|value| !value.is_null());
            is_set.map(|is_set| (Vec::new(), f64::from(u8::from(is_set)))).into_iter().collect()
        }
        Source::Length(path) => {
            let entries = state.pointer(path).filter(|value| value.is_array());
            sample(family, Vec::new(), entries).into_iter().collect()
        }
        Source::Each { list: path, value } => list(path)
            .flat_map(|entry| {
                sample(family, label_values(family.labels, entry), entry.pointer(value))
            })
            .collect(),
        Source::States { list: path, state, all } => {
            let mut samples = Vec::new();
            for entry in list(path) {
                let Some(current) = entry.pointer(state).and_then(Value::as_str) else { continue };
                let labels = label_values(&family.labels[..family.labels.len() - 1], entry);
                for state in all {
                    let mut labels = labels.clone();
                    labels.push((*state).to_owned());
                    samples.push((labels, f64::from(u8::from(*state == current))));
                }
            }
            samples
        }
        Source::Info => vec![(label_values(family.labels, state), 1.0)],
    }
}

fn sample(family: &Family, labels: Vec<String>, value: Option<&Value>) -> Option<Sample> {
    let number = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::Bool(yes) => f64::from(u8::from(*yes)),
        Value::Array(entries) => entries.len() as f64,
        _ => return None,
    };
    Some((labels, number * family.scale))
}

fn label_values(labels: &[&str], entry: &Value) -> Vec<String> {
    let text = |label: &&str| match entry.get(*label) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    labels.iter().map(text).collect()
}

fn label_set(names: &[&str], values: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let label = |(name, value): (&&str, &String)| format!("{name}=\"{}\"", escape_label(value));
    let labels: Vec<String> = names.iter().zip(values).map(label).collect();
    format!("{{{}}}", labels.join(","))
}

fn escape_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn escape_label(text: &str) -> String {
    escape_help(text).replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::text_format;

    const FAMILIES: [Family; 6] = [
        Family::gauge("x_info", "Texts.", Source::Info).labels(&["server", "none"]),
        Family::counter("x_read_bytes_total", "Bytes.", Source::Value("/images/bytes")).bytes(),
        Family::gauge("x_wait_seconds", "Time.", Source::Value("/wait_ms"))
            .source_in_milliseconds(),
        Family::gauge("x_images", "Images.", Source::Each { list: "/ranks", value: "/images" })
            .labels(&["rank"]),
        Family::gauge(
            "x_rank_state",
            "State.",
            Source::States { list: "/ranks", state: "/state", all: &["up", "down"] },
        )
        .labels(&["rank", "state"]),
        Family::gauge("x_full", "1 if the disk is full.", Source::IsSet("/problem")),
    ];

    #[test]
    fn declared_values_of_a_state_are_rendered_and_nothing_else() {
        let state = serde_json::json!({
            "server": "a\"b", "wait_ms": 1500, "on": true, "none": null, "problem": null,
            "images": { "bytes": 7, "of": ["x", "y"] },
            "ranks": [{ "rank": 0, "images": [1, 2], "state": "up" }, { "rank": 2, "state": "down" }],
        });
        let text = render(&Catalogue { program: "x", families: &FAMILIES }, &state);
        let expected = "\
# HELP x_info Texts.
# TYPE x_info gauge
x_info{server=\"a\\\"b\",none=\"\"} 1
# HELP x_read_bytes_total Bytes.
# TYPE x_read_bytes_total counter
x_read_bytes_total 7
# HELP x_wait_seconds Time.
# TYPE x_wait_seconds gauge
x_wait_seconds 1.5
# HELP x_images Images.
# TYPE x_images gauge
x_images{rank=\"0\"} 2
# HELP x_rank_state State.
# TYPE x_rank_state gauge
x_rank_state{rank=\"0\",state=\"up\"} 1
x_rank_state{rank=\"0\",state=\"down\"} 0
x_rank_state{rank=\"2\",state=\"up\"} 0
x_rank_state{rank=\"2\",state=\"down\"} 1
# HELP x_full 1 if the disk is full.
# TYPE x_full gauge
x_full 0
";
        assert_eq!(text, expected);
        let page = text_format::parse(&text).unwrap();
        assert_eq!(page.value("x_info", &[("server", "a\"b")]), Some(1.0));
        assert_eq!(page.value("x_rank_state", &[("rank", "2"), ("state", "down")]), Some(1.0));
    }

    #[test]
    fn the_page_of_a_job_has_the_metrics_of_its_servers() {
        let logger = |number: u32, host: &str, events: u64| {
            let ranks = [serde_json::json!({ "rank": number, "written": events })];
            let state = serde_json::json!({ "events": events, "ranks": ranks });
            serde_json::json!({ "kind": "event-logger", "server": number, "host": host, "state": state })
        };
        // Nothing is known of the values of a server that does not answer.
        let silent = serde_json::json!({ "kind": "checkpoint-server", "server": 0, "host": "a" });
        let state =
            serde_json::json!({ "servers": [logger(0, "a", 7), logger(1, "b", 9), silent] });
        let text = render(&Catalogue { program: "x", families: &[] }, &state);
        let page = text_format::parse(&text).unwrap();
        page.check_conventions().unwrap();
        let events = |labels| page.value("ftmpi_event_logger_events_total", labels);
        assert_eq!(events(&[("server", "0"), ("host", "a")]), Some(7.0));
        assert_eq!(events(&[("server", "1"), ("host", "b")]), Some(9.0));
        let written = "ftmpi_event_logger_rank_written_event";
        assert_eq!(page.value(written, &[("server", "1"), ("rank", "1")]), Some(9.0));
        assert!(!text.contains("checkpoint_server"), "{text}");
    }
}
