//! PMI-2: messages of `key=value;` behind a length of six characters, as Slurm speaks them
//! (`srun --mpi=pmi2`).
//!
//! Guarantees: an answer that is not the expected one is an error that names it.

use super::stream::{Stream, plain};
use super::{Identity, KeyValueSpace, Result, StartError};

/// Characters of a length.
const LENGTH_CHARS: usize = 6;

/// The connection.
#[derive(Debug)]
pub(super) struct Pmi2 {
    stream: Stream,
    identity: Identity,
    job: String,
}

/// One answer: `cmd=NAME;key=value;…`, where `;;` is a semicolon in a value.
#[derive(Debug)]
struct Answer {
    whole: String,
    fields: Vec<(String, String)>,
}

impl Answer {
    fn read(whole: String) -> Self {
        let mut fields = Vec::new();
        let mut field = String::new();
        let mut chars = whole.chars().peekable();
        while let Some(c) = chars.next() {
            if c != ';' {
                field.push(c);
            } else if chars.next_if_eq(&';').is_some() {
                field.push(';');
            } else if let Some((key, value)) = std::mem::take(&mut field).split_once('=') {
                fields.push((key.to_owned(), value.to_owned()));
            }
        }
        Self { whole, fields }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn number(&self, key: &str) -> Result<u32> {
        self.get(key).and_then(|text| text.parse().ok()).ok_or_else(|| self.unexpected())
    }

    fn unexpected(&self) -> StartError {
        StartError::Answer(format!("`{}`", self.whole.chars().take(200).collect::<String>()))
    }
}

/// Whether this is a step of Slurm that offers PMI-2.
pub(super) fn is_there(variable: &impl Fn(&str) -> Option<String>) -> bool {
    let is_step = variable("SLURM_STEP_ID").or_else(|| variable("SLURM_STEPID")).is_some();
    // Within a step, a launcher of another MPI may have started this process.
    let by_other = ["HYDI_CONTROL_FD", "HYDRA_CONTROL_FD", "FLUX_JOB_ID"];
    let of_slurm = variable("PMI_JOBID").is_some();
    variable("PMI_FD").is_some()
        && is_step
        && of_slurm
        && by_other.iter().all(|name| variable(name).is_none())
}

/// Connects; `None`: this process was started alone.
pub(super) fn connect(
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Box<dyn KeyValueSpace>>> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
    let rank = number("PMI_RANK");
    let (Some(rank), Some(size)) = (rank, number("PMI_SIZE")) else {
        return Err(StartError::Answer("no PMI_RANK and PMI_SIZE".into()));
    };
    if size <= 1 {
        return Ok(None);
    }
    let stream = Stream::inherited(&variable("PMI_FD").unwrap_or_default())?;
    let job = variable("PMI_JOBID").unwrap_or_default();
    Ok(Some(Box::new(Pmi2::begin(stream, rank, plain(&job))?)))
}

impl Pmi2 {
    fn begin(mut stream: Stream, rank: u32, job: String) -> Result<Self> {
        // The first question, and its answer, is a line of PMI-1.
        stream.send(b"cmd=init pmi_version=2 pmi_subversion=0\n")?;
        let line = stream.line()?;
        let has = |field: &str| line.split_ascii_whitespace().any(|known| known == field);
        if !(has("cmd=response_to_init") && has("rc=0") && has("pmi_version=2")) {
            return Err(Answer { whole: line, fields: Vec::new() }.unexpected());
        }
        let identity = Identity { rank, size: 0, app_number: 0 };
        let mut pmi = Self { stream, identity, job };
        let question = format!("fullinit;pmijobid={};pmirank={rank};threaded=FALSE;", pmi.job);
        let answer = pmi.ask("fullinit", &question)?;
        pmi.identity = Identity {
            rank: answer.number("rank")?,
            size: answer.number("size")?,
            app_number: answer.number("appnum").unwrap_or(0),
        };
        if pmi.identity.rank >= pmi.identity.size {
            return Err(answer.unexpected());
        }
        Ok(pmi)
    }

    fn send(&mut self, question: &str) -> Result<()> {
        let question = format!("cmd={question}");
        self.stream.send(format!("{:6}{question}", question.len()).as_bytes())
    }

    fn ask(&mut self, command: &str, question: &str) -> Result<Answer> {
        self.send(question)?;
        let length = self.stream.exactly(LENGTH_CHARS)?;
        let bytes = length.trim().parse::<usize>();
        let bytes = bytes.map_err(|_| StartError::Answer(format!("`{length}`")))?;
        let answer = Answer::read(self.stream.exactly(bytes)?);
        let expected = format!("{command}-response");
        let is_good =
            answer.get("cmd") == Some(&expected) && answer.get("rc").is_none_or(|code| code == "0");
        if is_good { Ok(answer) } else { Err(answer.unexpected()) }
    }
}

impl KeyValueSpace for Pmi2 {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn put(&mut self, what: &str, text: &str) -> Result<()> {
        let (rank, text) = (self.identity.rank, text.replace(';', ";;"));
        let question = format!("kvs-put;key=ftmpi-{what}-{rank};value={text};");
        self.ask("kvs-put", &question).map(|_| ())
    }

    fn fence(&mut self) -> Result<()> {
        self.ask("kvs-fence", "kvs-fence;").map(|_| ())
    }

    fn get(&mut self, what: &str, of: u32) -> Result<String> {
        let question = format!("kvs-get;jobid={};srcid=-1;key=ftmpi-{what}-{of};", self.job);
        let answer = self.ask("kvs-get", &question)?;
        match (answer.get("found").or_else(|| answer.get("flag")), answer.get("value")) {
            (None | Some("TRUE"), Some(value)) => Ok(value.to_owned()),
            _ => Err(answer.unexpected()),
        }
    }

    fn finalize(&mut self) -> Result<()> {
        self.ask("finalize", "finalize;").map(|_| ())
    }

    fn abort(&mut self, code: i32, text: &str) {
        // No answer comes; the launcher kills this process.
        let text = plain(&format!("MPI_Abort with code {code} {text}"));
        let _ = self.send(&format!("abort;isworld=TRUE;msg={text};"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::tests::answering;
    use super::*;
    use std::io::Read;

    fn framed(messages: &[&str]) -> String {
        messages.iter().map(|message| format!("{:<6}{message}", message.len())).collect()
    }

    fn answers(more: &[&str]) -> String {
        let full =
            "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=4;appnum=3;";
        let all: Vec<&str> = [full].into_iter().chain(more.iter().copied()).collect();
        format!("cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n{}", framed(&all))
    }

    #[test]
    fn the_questions_are_those_that_slurm_answers() {
        let words = answers(&[
            "cmd=kvs-put-response;rc=0;",
            "cmd=kvs-fence-response;rc=0;",
            "cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b=c:d;",
            "cmd=finalize-response;rc=0;",
        ]);
        let (stream, mut theirs) = answering(words.as_bytes());
        let mut pmi = Pmi2::begin(stream, 1, "9.0".into()).unwrap();
        assert_eq!(pmi.identity, Identity { rank: 1, size: 4, app_number: 3 });
        pmi.put("card", "1;2").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get("card", 2).unwrap(), "a;b=c:d");
        pmi.finalize().unwrap();
        pmi.abort(7, "a;b=c");
        drop(pmi);
        let mut said = String::new();
        theirs.read_to_string(&mut said).unwrap();
        let expected = "cmd=init pmi_version=2 pmi_subversion=0\n    \
            51cmd=fullinit;pmijobid=9.0;pmirank=1;threaded=FALSE;    \
            42cmd=kvs-put;key=ftmpi-card-1;value=1;;2;    14cmd=kvs-fence;    \
            50cmd=kvs-get;jobid=9.0;srcid=-1;key=ftmpi-card-2;    13cmd=finalize;    \
            58cmd=abort;isworld=TRUE;msg=MPI Abort with code 7 a b c;";
        let blank = |text: &str| text.replace([' ', '_'], "").replace(char::is_numeric, "");
        assert_eq!(blank(&said), blank(expected));
        assert!(said.contains(&format!("{:6}cmd=kvs-fence;", "cmd=kvs-fence;".len())), "{said}");
    }

    #[test]
    fn answers_that_are_none_are_errors_and_never_panics() {
        for answer in [
            "",
            "cmd=kvs-get-response;rc=0;found=FALSE;",
            "cmd=kvs-get-response;rc=1;value=x;",
            "cmd=kvs-put-response;rc=0;",
            ";;;;;",
            "=;=;=",
            "cmd=kvs-get-response;rc=0;found=TRUE;",
        ] {
            let (stream, _theirs) = answering(answers(&[answer]).as_bytes());
            let mut pmi = Pmi2::begin(stream, 1, "9.0".into()).unwrap();
            assert!(pmi.get("card", 0).is_err(), "{answer}");
        }
        let whole = answers(&[]);
        for cut in 0..whole.len() {
            let (stream, theirs) = answering(&whole.as_bytes()[..cut]);
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(Pmi2::begin(stream, 1, "9.0".into()).is_err(), "{cut}");
        }
        for length in ["999999", "-00001", "abcdef", "      "] {
            let words =
                format!("cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n{length}");
            let (stream, _theirs) = answering(words.as_bytes());
            assert!(Pmi2::begin(stream, 1, "9.0".into()).is_err(), "{length}");
        }
    }
}
