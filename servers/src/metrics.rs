//! The state of a server, or of a job, in the text form of Prometheus, over HTTP.
//!
//! Nothing listens unless the user names an address. Whatever is a number in the state (see `status`)
//! becomes a gauge, so the two never part: `{"images": {"bytes": 7}}` is `PREFIX_images_bytes 7`; of the
//! lists that tell something of each rank, each entry becomes a sample with that label; of other lists
//! the length is told. Texts stand in `PREFIX_info`. Read-only, and without secrets: keys, paths of
//! users' files and arguments are no part of a state.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use tokio::sync::{mpsc, oneshot};

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Lists with at most one entry for each rank.
const BY_RANK: [&str; 2] = ["ranks", "recovered"];

/// Samples of one name: labels and value.
type Samples = Vec<(String, f64)>;

/// The state as text.
#[must_use]
pub fn render(prefix: &str, state: &Value) -> String {
    let mut families = BTreeMap::<String, Samples>::new();
    let mut info = String::new();
    if let Value::Object(fields) = state {
        for (name, value) in fields {
            if let Value::String(text) = value {
                let comma = if info.is_empty() { "" } else { "," };
                let _ = write!(info, "{comma}{}=\"{}\"", word(name), escaped(text));
            }
        }
        walk(prefix, fields, "", &mut families);
    }
    if !info.is_empty() {
        families.insert(format!("{prefix}_info"), vec![(info, 1.0)]);
    }
    let mut text = String::new();
    for (name, samples) in families {
        let _ = writeln!(text, "# TYPE {name} gauge");
        for (labels, value) in samples {
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

fn walk(
    prefix: &str,
    fields: &Map<String, Value>,
    labels: &str,
    families: &mut BTreeMap<String, Samples>,
) {
    for (field, value) in fields {
        let name = format!("{prefix}_{}", word(field));
        let mut put = |name: String, value| {
            families.entry(name).or_default().push((labels.to_owned(), value));
        };
        match value {
            Value::Number(number) => put(name, number.as_f64().unwrap_or(f64::NAN)),
            Value::Bool(yes) => put(name, f64::from(u8::from(*yes))),
            Value::Object(fields) => walk(&name, fields, labels, families),
            Value::Array(entries) => match by_rank(field, entries).filter(|_| labels.is_empty()) {
                Some(entries) => {
                    for (rank, mut fields) in entries {
                        fields.remove("rank");
                        walk(&name, &fields, &format!("rank=\"{rank}\""), families);
                    }
                }
                None => put(format!("{name}_count"), entries.len() as f64),
            },
            Value::String(_) | Value::Null => {}
        }
    }
}

/// The entries, if each is of another rank.
fn by_rank(field: &str, entries: &[Value]) -> Option<BTreeMap<u64, Map<String, Value>>> {
    if !BY_RANK.contains(&field) {
        return None;
    }
    let mut ranks = BTreeMap::new();
    for entry in entries {
        let fields = entry.as_object()?;
        if ranks.insert(fields.get("rank")?.as_u64()?, fields.clone()).is_some() {
            return None;
        }
    }
    Some(ranks)
}

fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Somebody who wants to know the state.
pub type Question = oneshot::Sender<Value>;

/// Answers at this address, in a thread of its own, until the process ends; each time it asks for the
/// state. When nobody listens to its questions any more, it says so.
///
/// # Errors
/// It cannot listen there.
pub fn listen(
    address: SocketAddr,
    prefix: &'static str,
) -> Result<(SocketAddr, mpsc::UnboundedReceiver<Question>), String> {
    let (ask, questions) = mpsc::unbounded_channel::<Question>();
    let state = move || {
        let (question, answer) = oneshot::channel();
        ask.send(question).ok()?;
        answer.blocking_recv().ok()
    };
    let fail = |why: &dyn std::fmt::Display| format!("metrics: cannot listen on {address}: {why}");
    let server = tiny_http::Server::http(address).map_err(|e| fail(&e))?;
    let at = server.server_addr().to_ip().ok_or_else(|| fail(&"no address"))?;
    let answer = move |request: &tiny_http::Request| {
        let plain =
            |code, text: String| tiny_http::Response::from_string(text).with_status_code(code);
        if *request.method() != tiny_http::Method::Get {
            return plain(405, "GET /metrics\n".into());
        }
        if request.url() != "/metrics" {
            return plain(404, "see /metrics\n".into());
        }
        let Some(state) = state() else { return plain(503, "it ends\n".into()) };
        let response = plain(200, render(prefix, &state));
        match tiny_http::Header::from_bytes("Content-Type", CONTENT_TYPE) {
            Ok(header) => response.with_header(header),
            Err(()) => response,
        }
    };
    std::thread::Builder::new()
        .name("metrics".into())
        .spawn(move || {
            for request in server.incoming_requests() {
                let response = answer(&request);
                // Whoever asked may be gone.
                let _ = request.respond(response);
            }
        })
        .map_err(|e| fail(&e))?;
    Ok((at, questions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn get(at: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn all_numbers_of_a_state_are_told() {
        let state = serde_json::json!({
            "server": "a\"b", "up_s": 1.5, "on": true, "none": null,
            "images": { "bytes": 7, "of": ["x", "y"] },
            "ranks": [{ "rank": 0, "events": 3 }, { "rank": 2, "events": 4, "list": [1] }],
            "failures": [{ "rank": 1 }, { "rank": 1 }],
        });
        let text = render("ftmpi", &state);
        let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let expected = [
            "ftmpi_failures_count 2",
            "ftmpi_images_bytes 7",
            "ftmpi_images_of_count 2",
            "ftmpi_info{server=\"a\\\"b\"} 1",
            "ftmpi_on 1",
            "ftmpi_ranks_events{rank=\"0\"} 3",
            "ftmpi_ranks_events{rank=\"2\"} 4",
            "ftmpi_ranks_list_count{rank=\"2\"} 1",
            "ftmpi_up_s 1.5",
        ];
        assert_eq!(samples, expected);
        // One type line for each name.
        assert_eq!(text.lines().count() - samples.len(), 8);
    }

    #[test]
    fn it_answers_over_http_and_nothing_else() {
        let (at, mut questions) = listen("127.0.0.1:0".parse().unwrap(), "x").unwrap();
        let answering = std::thread::spawn(move || {
            let question = questions.blocking_recv().unwrap();
            question.send(serde_json::json!({ "a": 1 })).unwrap();
            questions.close();
        });
        let good = get(at, "GET /metrics");
        assert!(good.starts_with("HTTP/1.1 200") && good.contains("x_a 1"), "{good}");
        assert!(get(at, "GET /").starts_with("HTTP/1.1 404"));
        assert!(get(at, "POST /metrics").starts_with("HTTP/1.1 405"));
        answering.join().unwrap();
        assert!(get(at, "GET /metrics").starts_with("HTTP/1.1 503"));
        assert!(listen(at, "x").is_err());
    }
}
