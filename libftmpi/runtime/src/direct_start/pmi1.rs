//! PMI-1: lines of `key=value` over a socket (MPICH's `simple_pmi`), as Hydra and Flux speak them.
//!
//! Guarantees: an answer that is not the expected one is an error that names it.

use super::stream::{Stream, plain};
use super::{Identity, KeyValueSpace, Result, StartError};

/// The connection.
#[derive(Debug)]
pub(super) struct Pmi1 {
    stream: Stream,
    identity: Identity,
    /// Name of the key-value space.
    space: String,
}

/// One answer: `cmd=NAME key=value…`
#[derive(Debug)]
struct Answer(String);

impl Answer {
    fn get(&self, key: &str) -> Option<&str> {
        let fields = self.0.split_ascii_whitespace().filter_map(|field| field.split_once('='));
        fields.into_iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    fn number(&self, key: &str) -> Result<u32> {
        self.get(key).and_then(|text| text.parse().ok()).ok_or_else(|| self.unexpected())
    }

    fn text(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| self.unexpected())
    }

    fn unexpected(&self) -> StartError {
        StartError::Answer(format!("`{}`", self.0.chars().take(200).collect::<String>()))
    }
}

/// Whether a launcher offers PMI-1.
pub(super) fn is_there(variable: &impl Fn(&str) -> Option<String>) -> bool {
    variable("PMI_FD").is_some() || variable("PMI_PORT").is_some() && variable("PMI_ID").is_some()
}

/// Connects; `None`: this process was started alone.
pub(super) fn connect(
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Box<dyn KeyValueSpace>>> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
    let (stream, identity) = match variable("PMI_FD") {
        Some(descriptor) => {
            let rank = number("PMI_RANK");
            let (Some(rank), Some(size)) = (rank, number("PMI_SIZE")) else {
                return Err(StartError::Answer("no PMI_RANK and PMI_SIZE".into()));
            };
            if size <= 1 {
                return Ok(None);
            }
            (Stream::inherited(&descriptor)?, Identity { rank, size, app_number: 0 })
        }
        None => {
            let mut stream = Stream::call(&variable("PMI_PORT").unwrap_or_default())?;
            let identity = introduce(&mut stream, &variable("PMI_ID").unwrap_or_default())?;
            (stream, identity)
        }
    };
    let space = Pmi1::begin(stream, identity)?;
    Ok((space.identity.size > 1).then(|| Box::new(space) as Box<dyn KeyValueSpace>))
}

/// The begin of a connection that was called: the launcher tells who this process is.
fn introduce(stream: &mut Stream, id: &str) -> Result<Identity> {
    stream.send(format!("cmd=initack pmiid={}\n", plain(id)).as_bytes())?;
    let answer = Answer(stream.line()?);
    if answer.get("cmd") != Some("initack") {
        return Err(answer.unexpected());
    }
    let known = [stream.line()?, stream.line()?, stream.line()?].map(Answer);
    let find = |wanted: &str| {
        let line = known.iter().find(|line| line.get(wanted).is_some());
        line.map_or_else(|| Err(answer.unexpected()), |line| line.number(wanted))
    };
    Ok(Identity { rank: find("rank")?, size: find("size")?, app_number: 0 })
}

impl Pmi1 {
    fn begin(stream: Stream, identity: Identity) -> Result<Self> {
        let mut pmi = Self { stream, identity, space: String::new() };
        pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        pmi.ask("cmd=get_maxes", "maxes")?;
        pmi.identity.app_number = pmi.ask("cmd=get_appnum", "appnum")?.number("appnum")?;
        pmi.space = pmi.ask("cmd=get_my_kvsname", "my_kvsname")?.text("kvsname")?.to_owned();
        if pmi.identity.rank >= pmi.identity.size {
            return Err(StartError::Answer(format!("{:?}", pmi.identity)));
        }
        Ok(pmi)
    }

    fn ask(&mut self, question: &str, expected: &str) -> Result<Answer> {
        self.stream.send(format!("{question}\n").as_bytes())?;
        let answer = Answer(self.stream.line()?);
        let is_good =
            answer.get("cmd") == Some(expected) && answer.get("rc").is_none_or(|code| code == "0");
        if is_good { Ok(answer) } else { Err(answer.unexpected()) }
    }
}

impl KeyValueSpace for Pmi1 {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn put(&mut self, what: &str, text: &str) -> Result<()> {
        let (space, rank) = (&self.space, self.identity.rank);
        let question = format!("cmd=put kvsname={space} key=ftmpi-{what}-{rank} value={text}");
        self.ask(&question, "put_result").map(|_| ())
    }

    fn fence(&mut self) -> Result<()> {
        self.ask("cmd=barrier_in", "barrier_out").map(|_| ())
    }

    fn get(&mut self, what: &str, of: u32) -> Result<String> {
        let question = format!("cmd=get kvsname={} key=ftmpi-{what}-{of}", self.space);
        Ok(self.ask(&question, "get_result")?.text("value")?.to_owned())
    }

    fn finalize(&mut self) -> Result<()> {
        self.ask("cmd=finalize", "finalize_ack").map(|_| ())
    }

    fn abort(&mut self, code: i32, _: &str) {
        // No answer comes; the launcher kills this process.
        let _ = self.stream.send(format!("cmd=abort exitcode={code}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::tests::answering;
    use super::*;
    use std::io::Read;

    const BEGIN: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n\
        cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=appnum appnum=2\n\
        cmd=my_kvsname kvsname=kvs_7_0\n";

    fn begin(more: &str) -> (Result<Pmi1>, std::os::unix::net::UnixStream) {
        let (stream, theirs) = answering(format!("{BEGIN}{more}").as_bytes());
        (Pmi1::begin(stream, Identity { rank: 1, size: 4, app_number: 0 }), theirs)
    }

    #[test]
    fn the_questions_are_those_that_hydra_answers() {
        let (pmi, mut theirs) = begin(
            "cmd=put_result rc=0 msg=success\ncmd=barrier_out\n\
             cmd=get_result rc=0 msg=success value=a:b,[c]\ncmd=finalize_ack\n",
        );
        let mut pmi = pmi.unwrap();
        assert_eq!(pmi.identity.app_number, 2);
        pmi.put("card", "1:2").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get("card", 3).unwrap(), "a:b,[c]");
        pmi.finalize().unwrap();
        pmi.abort(7, "x");
        drop(pmi);
        let mut said = String::new();
        theirs.read_to_string(&mut said).unwrap();
        let said: Vec<_> = said.lines().skip(4).collect();
        let expected = [
            "cmd=put kvsname=kvs_7_0 key=ftmpi-card-1 value=1:2",
            "cmd=barrier_in",
            "cmd=get kvsname=kvs_7_0 key=ftmpi-card-3",
            "cmd=finalize",
            "cmd=abort exitcode=7",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn answers_that_are_none_are_errors_and_never_panics() {
        for answer in [
            "",
            "\n",
            "cmd\n",
            "cmd=\n",
            "cmd=get_result rc=-1 msg=no value=x\n",
            "cmd=get_result rc=0\n",
            "cmd=put_result rc=0\n",
            "value=x\n",
            "\u{0}\u{1}=\u{ff}\n",
            "cmd=get_result rc=x value=y\n",
        ] {
            let (pmi, theirs) = begin(answer);
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(pmi.unwrap().get("card", 0).is_err(), "{answer}");
        }
        for cut in 0..BEGIN.len() {
            let (stream, theirs) = answering(&BEGIN.as_bytes()[..cut]);
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            let begun = Pmi1::begin(stream, Identity { rank: 1, size: 4, app_number: 0 });
            assert!(begun.is_err(), "{cut}");
        }
    }

    #[test]
    fn a_launcher_that_is_called_tells_who_this_is() {
        let words = "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=3\ncmd=set debug=0\n";
        let (mut stream, _theirs) = answering(words.as_bytes());
        let identity = introduce(&mut stream, "3").unwrap();
        assert_eq!((identity.rank, identity.size), (3, 4));
        for words in ["cmd=x\n", "cmd=initack\ncmd=set size=4\ncmd=set size=4\ncmd=set size=4\n"] {
            let (mut stream, _theirs) = answering(words.as_bytes());
            assert!(introduce(&mut stream, "3").is_err(), "{words}");
        }
    }
}
