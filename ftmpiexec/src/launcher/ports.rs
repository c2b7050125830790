//! Ports of the job's ranks, and names that ranks publish.
//!
//! Guarantees: a port has one owner and a number of its own in the job. A name leads to one text,
//! which need not be a port of this job, and that text takes it back. No I/O.

use ftmpi_wire::Rank;
use ftmpi_wire::new_processes::{JobAnswer, JobQuestion, Refusal, World};
use std::collections::BTreeMap;

/// Begin of the name of every port.
const PREFIX: &str = "ftmpi-port";

/// See the module.
#[derive(Debug)]
pub struct Ports {
    job: String,
    next: u32,
    open: BTreeMap<Vec<u8>, (Rank, u32)>,
    names: BTreeMap<Vec<u8>, (Rank, Vec<u8>)>,
}

fn refused(refusal: Refusal, why: String) -> JobAnswer {
    JobAnswer::Refused { refusal, why }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

impl Ports {
    /// The ports of the job of this name.
    pub fn new(job: &str) -> Self {
        Self { job: job.to_owned(), next: 0, open: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// Answers a rank; `None`: the question is not about ports.
    pub fn answer(&mut self, rank: Rank, question: &JobQuestion) -> Option<JobAnswer> {
        Some(match question {
            JobQuestion::Spawn { .. } => return None,
            JobQuestion::OpenPort => {
                let number = self.next;
                self.next += 1;
                let port = format!("{PREFIX}:{}:{rank}:{number}", self.job).into_bytes();
                self.open.insert(port.clone(), (rank, number));
                JobAnswer::Port(port)
            }
            JobQuestion::ClosePort { port } => match self.open.get(port) {
                Some((owner, _)) if *owner == rank => {
                    self.open.remove(port);
                    JobAnswer::Done
                }
                Some((owner, _)) => refused(
                    Refusal::Port,
                    format!("process {owner} has opened this port: it must close it"),
                ),
                None => self.unknown_port(port),
            },
            JobQuestion::FindPort { port } => match self.open.get(port) {
                Some((owner, number)) => JobAnswer::Owner(*owner, *number),
                None => self.unknown_port(port),
            },
            JobQuestion::Publish { service, port } => self.publish(rank, service, port),
            JobQuestion::Unpublish { service, port } => self.unpublish(service, port),
            JobQuestion::LookUp { service } => match self.names.get(service) {
                Some((_, port)) => JobAnswer::Port(port.clone()),
                None => {
                    let name = shown(service);
                    refused(Refusal::Name, format!("no port is published as '{name}' in this job"))
                }
            },
        })
    }

    fn unknown_port(&self, port: &[u8]) -> JobAnswer {
        let text = shown(port);
        let mut parts = text.split(':');
        let of_another =
            parts.next() == Some(PREFIX) && parts.next().is_some_and(|job| job != self.job);
        let why = match of_another {
            true => format!(
                "'{text}' is a port of another job, and jobs cannot connect to each other: start \
                 both programs with one ftmpiexec, separated by ':'"
            ),
            false => format!("'{text}' is no open port of this job"),
        };
        refused(Refusal::Port, why)
    }

    fn publish(&mut self, rank: Rank, service: &[u8], port: &[u8]) -> JobAnswer {
        if let Some((publisher, _)) = self.names.get(service) {
            let name = shown(service);
            let why = format!("process {publisher} has published '{name}' already");
            return refused(Refusal::Service, why);
        }
        self.names.insert(service.to_vec(), (rank, port.to_vec()));
        JobAnswer::Done
    }

    fn unpublish(&mut self, service: &[u8], port: &[u8]) -> JobAnswer {
        let name = shown(service);
        match self.names.get(service) {
            Some((_, known)) if known == port => {
                self.names.remove(service);
                JobAnswer::Done
            }
            Some(_) => {
                refused(Refusal::Service, format!("'{name}' was published with another port"))
            }
            None => refused(Refusal::Service, format!("'{name}' is not published")),
        }
    }

    /// All processes of a world have ended: their ports and names with them.
    pub fn world_over(&mut self, world: World) {
        self.open.retain(|_, (owner, _)| !world.has(*owner));
        self.names.retain(|_, (publisher, _)| !world.has(*publisher));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port_of(ports: &mut Ports, rank: u32) -> Vec<u8> {
        match ports.answer(Rank(rank), &JobQuestion::OpenPort) {
            Some(JobAnswer::Port(port)) => port,
            other => panic!("{other:?}"),
        }
    }

    fn refusal(answer: Option<JobAnswer>) -> (Refusal, String) {
        match answer {
            Some(JobAnswer::Refused { refusal, why }) => (refusal, why),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_port_has_its_owner_until_it_is_closed() {
        let mut ports = Ports::new("ab12");
        let (first, second) = (port_of(&mut ports, 3), port_of(&mut ports, 3));
        assert_ne!(first, second);
        let find = |port: &[u8]| JobQuestion::FindPort { port: port.to_vec() };
        assert_eq!(ports.answer(Rank(0), &find(&second)), Some(JobAnswer::Owner(Rank(3), 1)));
        let close = JobQuestion::ClosePort { port: first.clone() };
        assert_eq!(refusal(ports.answer(Rank(0), &close)).0, Refusal::Port);
        assert_eq!(ports.answer(Rank(3), &close), Some(JobAnswer::Done));
        assert_eq!(refusal(ports.answer(Rank(0), &find(&first))).0, Refusal::Port);
        let (_, why) = refusal(ports.answer(Rank(0), &find(b"ftmpi-port:ff:0:0")));
        assert!(why.contains("another job"), "{why}");
        ports.world_over(World { first: 3, size: 1, parent: None });
        assert_eq!(refusal(ports.answer(Rank(0), &find(&second))).0, Refusal::Port);
    }

    #[test]
    fn a_name_leads_to_one_port() {
        let mut ports = Ports::new("ab12");
        let (service, port) = (b"ocean".to_vec(), port_of(&mut ports, 1));
        let look_up = JobQuestion::LookUp { service: service.clone() };
        assert_eq!(refusal(ports.answer(Rank(0), &look_up)).0, Refusal::Name);
        let publish = JobQuestion::Publish { service: service.clone(), port: port.clone() };
        assert_eq!(ports.answer(Rank(1), &publish), Some(JobAnswer::Done));
        assert_eq!(refusal(ports.answer(Rank(0), &publish)).0, Refusal::Service, "twice");
        assert_eq!(ports.answer(Rank(0), &look_up), Some(JobAnswer::Port(port.clone())));
        let wrong = JobQuestion::Unpublish { service: service.clone(), port: b"x".to_vec() };
        assert_eq!(refusal(ports.answer(Rank(1), &wrong)).0, Refusal::Service);
        let unpublish = JobQuestion::Unpublish { service, port };
        assert_eq!(ports.answer(Rank(1), &unpublish), Some(JobAnswer::Done));
        assert_eq!(refusal(ports.answer(Rank(1), &unpublish)).0, Refusal::Service);
    }
}
