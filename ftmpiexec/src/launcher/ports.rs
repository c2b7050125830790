//! Ports of the job's ranks, and names that ranks publish.
//!
//! Guarantees: a port has one owner and a number of its own in the job. A name leads to one text,
//! which need not be a port of this job, and that text takes it back. Where all ranks return to a
//! wave, ports and names are as they were when it began; numbers are not given again. Where ranks
//! are repeated, a rank that asks again gets the answer that its earlier incarnation had. No I/O.

use ftmpi_wire::new_processes::{JobAnswer, JobQuestion, Refusal, World, lane_and_count};
use ftmpi_wire::{ImageNo, Rank};
use std::collections::BTreeMap;

/// Begin of the name of every port.
const PREFIX: &str = "ftmpi-port";

/// How many questions of each lane.
type Lanes = BTreeMap<u32, u32>;

/// The same question with the same answer, so many times on end: a rank looks up a name until
/// somebody has published it.
#[derive(Debug, Clone)]
struct Run {
    asked: JobQuestion,
    answer: JobAnswer,
    times: u32,
}

/// Runs of a rank, by lane and the count of the first question.
type Runs = BTreeMap<(u32, u32), Run>;

/// See the module.
#[derive(Debug, Default)]
pub struct Ports {
    job: String,
    next: u32,
    now: Table,
    /// As they were when waves began.
    at_waves: BTreeMap<ImageNo, Table>,
    /// What each rank has asked, and the answers, as far as it may ask again.
    answers: BTreeMap<Rank, Runs>,
    /// How many answers the present incarnation of a rank has in each lane.
    answered: BTreeMap<Rank, Lanes>,
    /// The same for images that ranks were told to take.
    at_images: BTreeMap<(Rank, ImageNo), Lanes>,
}

/// Ports and names at a moment.
#[derive(Debug, Clone, Default)]
struct Table {
    open: BTreeMap<Vec<u8>, (Rank, u32)>,
    names: BTreeMap<Vec<u8>, (Rank, Vec<u8>)>,
}

fn refused(refusal: Refusal, why: String) -> JobAnswer {
    JobAnswer::Refused { refusal, why }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Drops what was asked in this lane before this count.
fn drop_before(runs: &mut Runs, lane: u32, count: u32) {
    while let Some((&(_, first), run)) = runs.range((lane, 0)..(lane, count)).next() {
        let (end, rest) = (first.saturating_add(run.times), run.clone());
        runs.remove(&(lane, first));
        if end > count {
            runs.insert((lane, count), Run { times: end - count, ..rest });
        }
    }
}

impl Ports {
    /// The ports of the job of this name.
    pub fn new(job: &str) -> Self {
        Self { job: job.to_owned(), ..Self::default() }
    }

    /// The answer that an earlier incarnation of a rank had to the question of this number.
    ///
    /// # Errors
    /// It was another question, so the rank takes another course than others have seen.
    pub fn answer_again(
        &mut self,
        key: (Rank, u64),
        asked: &JobQuestion,
    ) -> Option<Result<JobAnswer, String>> {
        let (rank, (lane, count)) = (key.0, lane_and_count(key.1));
        let runs = self.answers.get(&rank)?;
        let (&(_, first), run) = runs.range((lane, 0)..=(lane, count)).next_back()?;
        if count - first >= run.times {
            return None;
        }
        if run.asked == *asked {
            let answer = run.answer.clone();
            self.has_answer(key);
            return Some(Ok(answer));
        }
        Some(Err(format!(
            "question {count} of rank {rank} was another one in its earlier incarnation: its \
             threads ask at the same time, or the program depends on what MPI does not see; \
             --protocol coordinated repeats no questions"
        )))
    }

    /// A rank has this answer, and may ask again.
    pub fn keep(&mut self, key: (Rank, u64), asked: JobQuestion, answer: &JobAnswer) {
        self.has_answer(key);
        let (lane, count) = lane_and_count(key.1);
        let runs = self.answers.entry(key.0).or_default();
        if let Some((&(_, first), run)) = runs.range_mut((lane, 0)..=(lane, count)).next_back()
            && first.checked_add(run.times) == Some(count)
            && run.asked == asked
            && run.answer == *answer
        {
            run.times += 1;
            return;
        }
        runs.insert((lane, count), Run { asked, answer: answer.clone(), times: 1 });
    }

    fn has_answer(&mut self, (rank, number): (Rank, u64)) {
        let (lane, count) = lane_and_count(number);
        self.answered.entry(rank).or_default().insert(lane, count.saturating_add(1));
    }

    /// A rank has a new incarnation, which may ask again.
    pub fn begins(&mut self, rank: Rank) {
        self.answered.remove(&rank);
    }

    /// A rank is told to take an image. (It hears of answers in this order.)
    pub fn image_ordered(&mut self, rank: Rank, image: ImageNo) {
        if let Some(lanes) = self.answered.get(&rank) {
            self.at_images.insert((rank, image), lanes.clone());
        }
    }

    /// A rank returns to no image before this one; 0: it may return to its start.
    pub fn images_from(&mut self, rank: Rank, oldest: ImageNo) {
        if let Some(lanes) = self.at_images.get(&(rank, oldest)).cloned() {
            if let Some(runs) = self.answers.get_mut(&rank) {
                for (lane, answered) in lanes {
                    drop_before(runs, lane, answered);
                }
            }
            let before: Vec<ImageNo> = self
                .at_images
                .range((rank, ImageNo(0))..(rank, oldest))
                .map(|((_, image), _)| *image)
                .collect();
            for image in before {
                self.at_images.remove(&(rank, image));
            }
        }
    }

    /// This wave begins. `true`: that is new.
    pub fn remember(&mut self, wave: ImageNo) -> bool {
        !self.at_waves.contains_key(&wave) && self.at_waves.insert(wave, self.now.clone()).is_none()
    }

    /// All ranks return to this wave; 0: to their beginning.
    pub fn return_to(&mut self, wave: ImageNo) {
        self.at_waves.retain(|known, _| *known <= wave);
        self.now = self.at_waves.get(&wave).cloned().unwrap_or_default();
    }

    /// Nobody returns to waves before this one.
    pub fn forget_before(&mut self, oldest: ImageNo) {
        self.at_waves.retain(|known, _| *known >= oldest);
    }

    /// Answers a rank; `None`: the question is not about ports.
    pub fn answer(&mut self, rank: Rank, question: &JobQuestion) -> Option<JobAnswer> {
        Some(match question {
            JobQuestion::Spawn { .. } => return None,
            JobQuestion::Meet { .. } => JobAnswer::Done,
            JobQuestion::OpenPort => {
                let number = self.next;
                self.next += 1;
                let port = format!("{PREFIX}:{}:{rank}:{number}", self.job).into_bytes();
                self.now.open.insert(port.clone(), (rank, number));
                JobAnswer::Port(port)
            }
            JobQuestion::ClosePort { port } => match self.now.open.get(port) {
                Some((owner, _)) if *owner == rank => {
                    self.now.open.remove(port);
                    JobAnswer::Done
                }
                Some((owner, _)) => refused(
                    Refusal::Port,
                    format!("process {owner} has opened this port: it must close it"),
                ),
                None => self.unknown_port(port),
            },
            JobQuestion::FindPort { port } => match self.now.open.get(port) {
                Some((owner, number)) => JobAnswer::Owner(*owner, *number),
                None => self.unknown_port(port),
            },
            JobQuestion::Publish { service, port } => self.publish(rank, service, port),
            JobQuestion::Unpublish { service, port } => self.unpublish(service, port),
            JobQuestion::LookUp { service } => match self.now.names.get(service) {
                Some((_, port)) => JobAnswer::Port(port.clone()),
                None => {
                    let name = shown(service);
                    let why = format!(
                        "no port is published as '{name}' in this job; to find the names of another \
                         job, start this program with ftmpiexec --join JOB"
                    );
                    refused(Refusal::Name, why)
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
                "'{text}' is a port of another job: start this program with ftmpiexec --join JOB, \
                 where JOB is the directory of that job or the process number of its ftmpiexec"
            ),
            false => format!("'{text}' is no open port of this job"),
        };
        refused(Refusal::Port, why)
    }

    fn publish(&mut self, rank: Rank, service: &[u8], port: &[u8]) -> JobAnswer {
        if let Some((publisher, _)) = self.now.names.get(service) {
            let name = shown(service);
            let why = format!("process {publisher} has published '{name}' already");
            return refused(Refusal::Service, why);
        }
        self.now.names.insert(service.to_vec(), (rank, port.to_vec()));
        JobAnswer::Done
    }

    fn unpublish(&mut self, service: &[u8], port: &[u8]) -> JobAnswer {
        let name = shown(service);
        match self.now.names.get(service) {
            Some((_, known)) if known == port => {
                self.now.names.remove(service);
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
        self.now.open.retain(|_, (owner, _)| !world.has(*owner));
        self.now.names.retain(|_, (publisher, _)| !world.has(*publisher));
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
        assert!(why.contains("ftmpiexec --join"), "{why}");
        ports.world_over(World { first: 3, size: 1, parent: None });
        assert_eq!(refusal(ports.answer(Rank(0), &find(&second))).0, Refusal::Port);
    }

    #[test]
    fn who_asks_again_gets_the_answer_of_the_first_time() {
        let mut ports = Ports::new("ab12");
        let look_up = JobQuestion::LookUp { service: b"ocean".to_vec() };
        let no = ports.answer(Rank(1), &look_up).expect("about names");
        let port = ports.answer(Rank(1), &JobQuestion::OpenPort).expect("about ports");
        ports.keep((Rank(1), 0), look_up.clone(), &no);
        ports.keep((Rank(1), 1), JobQuestion::OpenPort, &port);
        ports.keep((Rank(2), 0), look_up.clone(), &no);
        assert_eq!(ports.answer_again((Rank(1), 0), &look_up), Some(Ok(no.clone())));
        assert_eq!(ports.answer_again((Rank(1), 1), &JobQuestion::OpenPort), Some(Ok(port)));
        assert_eq!(ports.answer_again((Rank(1), 2), &look_up), None, "a new question");
        let why = ports.answer_again((Rank(1), 0), &JobQuestion::OpenPort).unwrap().unwrap_err();
        assert!(why.contains("another one"), "{why}");
        // Answers that all images of the rank have are not needed any more.
        ports.image_ordered(Rank(1), ImageNo(1));
        ports.keep((Rank(1), 2), look_up.clone(), &no);
        ports.image_ordered(Rank(1), ImageNo(2));
        ports.images_from(Rank(1), ImageNo(0));
        assert_eq!(ports.answer_again((Rank(1), 0), &look_up), Some(Ok(no.clone())));
        ports.images_from(Rank(1), ImageNo(1));
        assert_eq!(ports.answer_again((Rank(1), 1), &JobQuestion::OpenPort), None);
        assert_eq!(ports.answer_again((Rank(1), 2), &look_up), Some(Ok(no.clone())));
        assert_eq!(ports.answer_again((Rank(2), 0), &look_up), Some(Ok(no.clone())));
        // An image of an incarnation that has not asked again yet has none of the answers.
        ports.begins(Rank(1));
        ports.image_ordered(Rank(1), ImageNo(3));
        ports.images_from(Rank(1), ImageNo(3));
        assert_eq!(ports.answer_again((Rank(1), 2), &look_up), Some(Ok(no)));
    }

    /// A rank that looks up a name again and again, in two lanes in turn.
    #[test]
    fn answers_that_repeat_are_kept_as_one() {
        let mut ports = Ports::new("ab12");
        let look_up = JobQuestion::LookUp { service: b"ocean".to_vec() };
        let no = ports.answer(Rank(1), &look_up).expect("about names");
        let number = |lane, count| ftmpi_wire::new_processes::question_number(lane, count);
        for count in 0..1000 {
            ports.keep((Rank(1), number(3, count)), look_up.clone(), &no);
            ports.keep((Rank(1), number(4, count)), look_up.clone(), &no);
            if count == 499 {
                ports.image_ordered(Rank(1), ImageNo(1));
            }
        }
        let yes = JobAnswer::Port(b"port".to_vec());
        ports.keep((Rank(1), number(3, 1000)), look_up.clone(), &yes);
        assert_eq!(ports.answers[&Rank(1)].len(), 3);
        ports.images_from(Rank(1), ImageNo(1));
        for (lane, count, right) in [
            (3, 499, None),
            (3, 500, Some(&no)),
            (3, 999, Some(&no)),
            (3, 1000, Some(&yes)),
            (3, 1001, None),
            (4, 0, None),
            (4, 999, Some(&no)),
            (4, 1000, None),
        ] {
            let answer = ports.answer_again((Rank(1), number(lane, count)), &look_up);
            assert_eq!(answer.map(Result::unwrap).as_ref(), right, "lane {lane}, {count}");
        }
        let other = ports.answer_again((Rank(1), number(3, 700)), &JobQuestion::OpenPort);
        assert!(other.is_some_and(|answer| answer.is_err()));
    }

    #[test]
    fn ports_and_names_return_to_a_wave() {
        let mut ports = Ports::new("ab12");
        let find = |port: &[u8]| JobQuestion::FindPort { port: port.to_vec() };
        let publish =
            |port: &[u8]| JobQuestion::Publish { service: b"ocean".to_vec(), port: port.to_vec() };
        let before = port_of(&mut ports, 0);
        assert!(ports.remember(ImageNo(1)) && !ports.remember(ImageNo(1)), "once for a wave");
        let after = port_of(&mut ports, 1);
        assert_eq!(ports.answer(Rank(1), &publish(&after)), Some(JobAnswer::Done));
        let close = JobQuestion::ClosePort { port: before.clone() };
        assert_eq!(ports.answer(Rank(0), &close), Some(JobAnswer::Done));
        ports.remember(ImageNo(2));
        ports.return_to(ImageNo(1));
        assert_eq!(ports.answer(Rank(1), &find(&before)), Some(JobAnswer::Owner(Rank(0), 0)));
        assert_eq!(refusal(ports.answer(Rank(0), &find(&after))).0, Refusal::Port);
        let again = port_of(&mut ports, 1);
        assert_ne!(again, after, "numbers are not given again");
        assert_eq!(ports.answer(Rank(1), &publish(&again)), Some(JobAnswer::Done), "once more");
        assert!(ports.remember(ImageNo(2)), "a later wave may have the number of a lost one");
        ports.forget_before(ImageNo(2));
        ports.return_to(ImageNo(0));
        assert_eq!(refusal(ports.answer(Rank(0), &find(&again))).0, Refusal::Port, "the start");
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
