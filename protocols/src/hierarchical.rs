//! Hierarchical: coordinated waves inside clusters of ranks, message logging between them (the V3
//! that mpich-v-2006 §5 announces; HydEE and SPBC are its successors).
//!
//! Guarantees: a failure returns the ranks of *one* cluster to its last complete wave, where they
//! repeat their recorded events. All other ranks continue. It is the composition of two protocols
//! that know nothing of each other. [`crate::coordinated`] speaks only to *cluster peers* (ranks of
//! the own cluster). A logging protocol records events. Under [`crate::pessimistic`] and
//! [`crate::causal`] no rank depends on an event that can be lost. Under [`crate::optimistic`] the
//! cluster of an orphan returns as if the orphan had failed, because only the cluster peer itself
//! can send its messages again.
//!
//! - *Payload* is logged for ranks of other clusters only ([`Protocol::logs_payload`]). What a
//!   cluster peer had sent is in the wave or is sent again by the cluster peer itself, which comes
//!   back with us.
//! - *Determinants* are made of all events, also of messages from cluster peers. Logging only what
//!   crosses clusters would be sound for send-deterministic programs alone (HydEE's assumption).
//!   Other programs could send something else when they run again, although the other clusters have
//!   seen the first message.
//! - *Every message waits for* (or carries) the events before it, also inside the cluster. A
//!   recorded match of a cluster peer's message is repeated only if the cluster peer sends that
//!   message again, so all events before its sending must survive. The answer to an announced
//!   message reveals to a cluster peer that it was matched, and no log can reproduce that. So the
//!   answer is gated like an acknowledgement. (Optimistic logging does not wait. If the cluster
//!   peer's log lost an event of these, the logs of all ranks that depend on it end there, also
//!   where all have returned.)
//! - *Waves begin only when every cluster peer has repeated all its recorded events.* The
//!   dispatcher waits for that: a rank that still repeats may need what another sends after its
//!   image.

use crate::protocol::*;
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{Determinant, EventNo, ImageNo, Incarnation, Rank, Ssn};

/// Name of the setting that says which ranks form a cluster: a number of consecutive ranks, or
/// [`encode`]d.
pub const CLUSTER: &str = "cluster";
/// Name of the setting that chooses the protocol between clusters.
pub const BETWEEN: &str = "between";

/// First byte of a frame of the logging protocol; no marker begins so.
const LOGGING: u8 = 0;

/// The protocol `hierarchical`.
pub struct Hierarchical {
    waves: Box<dyn Protocol>,
    between: Box<dyn Protocol>,
    hooks: Hooks,
    /// Whether each rank is of our cluster.
    cluster_peers: Vec<bool>,
}

impl Hierarchical {
    /// For rank `me`, where each rank is of the cluster that `clusters` names.
    #[must_use]
    pub fn new(
        waves: Box<dyn Protocol>,
        between: Box<dyn Protocol>,
        me: Rank,
        clusters: &[u32],
    ) -> Self {
        let own = clusters[me.index()];
        let hooks = Hooks { channel_state: true, ..between.hooks() };
        Self { waves, between, hooks, cluster_peers: clusters.iter().map(|c| *c == own).collect() }
    }

    fn is_cluster_peer(&self, peer: Rank) -> bool {
        self.cluster_peers[peer.index()]
    }
}

/// Writes down the cluster of each rank: `count*cluster` for each run of equal ones.
#[must_use]
pub fn encode(clusters: &[u32]) -> String {
    let runs = clusters.chunk_by(|a, b| a == b);
    let runs: Vec<String> = runs.map(|run| format!("{}*{}", run.len(), run[0])).collect();
    runs.join(",")
}

/// The cluster of each of `size` ranks, as [`encode`] wrote them or as a number of consecutive
/// ranks; `None` if it says something else.
#[must_use]
pub fn decode(text: &str, size: usize) -> Option<Vec<u32>> {
    if let Ok(ranks) = text.parse::<u32>() {
        return (ranks > 0).then(|| (0..size as u32).map(|rank| rank / ranks).collect());
    }
    let mut clusters = Vec::new();
    for run in text.split(',') {
        let (count, cluster) = run.split_once('*')?;
        let (count, cluster): (usize, u32) = (count.parse().ok()?, cluster.parse().ok()?);
        if count > size - clusters.len() || cluster as usize >= size {
            return None;
        }
        clusters.extend(std::iter::repeat_n(cluster, count));
    }
    (clusters.len() == size).then_some(clusters)
}

/// The clusters of a job of `size` ranks which this world joins, as [`encode`] writes
/// them: the world is a cluster of its own.
#[must_use]
pub fn joined_by(text: &str, size: usize, world: World) -> Option<String> {
    let mut clusters = decode(text, size)?;
    clusters.resize(size + world.size as usize, world.first);
    Some(encode(&clusters))
}

impl Protocol for Hierarchical {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn logs_payload(&self, peer: Rank) -> bool {
        !self.is_cluster_peer(peer)
    }

    fn shares_waves(&self, peer: Rank) -> bool {
        self.is_cluster_peer(peer)
    }

    fn on_newcomers(&mut self, count: usize) {
        self.cluster_peers.resize(self.cluster_peers.len() + count, false);
        self.between.on_newcomers(count);
    }

    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        match payload.split_first() {
            Some((&LOGGING, rest)) => self.between.on_frame(from, rest),
            _ => self.waves.on_frame(from, payload),
        }
    }

    fn next_command(&mut self) -> Option<Command> {
        if let Some(command) = self.waves.next_command() {
            return Some(command);
        }
        let mut command = self.between.next_command()?;
        if let Command::Send { payload, .. } | Command::SendFirst { payload, .. } = &mut command {
            payload.insert(0, LOGGING);
        }
        Some(command)
    }

    fn on_new_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.between.on_new_incarnation(last, incarnations);
    }

    fn on_peer_restart(&mut self, peer: Rank, incarnation: Incarnation) {
        self.between.on_peer_restart(peer, incarnation);
    }

    fn resume(&mut self, peer: Rank, out: &mut Vec<u8>) {
        self.between.resume(peer, out);
    }

    fn on_joined(&mut self, peer: Rank, said: &[u8]) {
        self.between.on_joined(peer, said);
    }

    fn on_parted(&mut self, peer: Rank) {
        self.between.on_parted(peer);
    }

    fn counts(&self) -> Counts {
        self.between.counts()
    }
}

impl Logging for Hierarchical {
    #[inline]
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        self.between.on_send(to, ssn)
    }

    fn gate(&self) -> EventNo {
        self.between.gate()
    }

    fn last_event(&self) -> EventNo {
        self.between.last_event()
    }

    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.between.on_stable(written, durable);
    }

    fn stable(&self) -> EventNo {
        self.between.stable()
    }

    fn flush(&mut self) {
        self.between.flush();
    }

    fn settle(&mut self) {
        self.between.settle();
    }

    fn commit(&mut self) {
        self.between.commit();
    }

    fn on_logger_back(&mut self) {
        self.between.on_logger_back();
    }

    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        self.between.on_stable_clocks(clocks);
    }

    fn is_awaited(&self) -> bool {
        self.between.is_awaited()
    }

    fn gathering(&self) -> bool {
        self.between.gathering()
    }

    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        self.between.on_restart(last, recorded);
    }

    fn on_oldest_image(&mut self, events: EventNo) {
        self.between.on_oldest_image(events);
    }

    fn determinants(&self) -> u64 {
        self.between.determinants()
    }
}

impl Determinants for Hierarchical {
    fn pin(&mut self, post: u64) -> Pin {
        self.between.pin(post)
    }

    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        self.between.on_match(post, source, ssn);
    }

    fn decide(&mut self) -> Decision {
        self.between.decide()
    }

    fn on_negative(&mut self) {
        self.between.on_negative();
    }

    fn on_answer(&mut self, answer: Answer) {
        self.between.on_answer(answer);
    }

    fn next_service(&self) -> Service {
        self.between.next_service()
    }

    fn service_repeated(&mut self) {
        self.between.service_repeated();
    }

    fn orders_threads(&self) -> bool {
        self.between.orders_threads()
    }

    fn next_turn(&self) -> NextTurn {
        self.between.next_turn()
    }

    fn on_step(&mut self, step: u64) {
        self.between.on_step(step);
    }

    fn replaying(&self) -> bool {
        self.between.replaying()
    }

    fn repeating(&self) -> bool {
        self.between.repeating()
    }

    fn recorded(&self) -> u64 {
        self.between.recorded()
    }
}

impl Piggybacking for Hierarchical {
    fn has_piggyback(&self, to: Rank) -> bool {
        self.between.has_piggyback(to)
    }

    fn piggyback(&mut self, to: Rank, out: &mut Vec<u8>) {
        self.between.piggyback(to, out);
    }

    fn on_piggyback(&mut self, from: Rank, piggyback: &[u8]) {
        self.between.on_piggyback(from, piggyback);
    }

    fn on_arrival(&mut self, from: Rank, ssn: Ssn) -> ArrivalVerdict {
        self.between.on_arrival(from, ssn)
    }

    fn refuses(&self, from: Rank) -> bool {
        self.between.refuses(from)
    }
}

impl Waves for Hierarchical {
    fn on_image_due(&mut self, image: ImageNo) {
        self.waves.on_image_due(image);
    }

    fn image_ready(
        &self,
        image: ImageNo,
        peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        self.waves.image_ready(image, peers)
    }

    fn stands_still(&self) -> bool {
        self.waves.stands_still()
    }

    fn on_image_over(&mut self, image: ImageNo) {
        self.waves.on_image_over(image);
    }

    fn on_return(&mut self, image: ImageNo) {
        self.waves.on_return(image);
    }

    fn greeting(&self) -> Option<Marker> {
        self.waves.greeting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causal::{self, Causal};
    use crate::coordinated::{Coordinated, nonblocking::NonBlocking};
    use crate::pessimistic::Pessimistic;
    use crate::protocol::Stage;
    use ftmpi_wire::Wave;

    fn waves() -> Box<dyn Protocol> {
        Box::new(Coordinated::new(NonBlocking))
    }

    #[test]
    fn clusters_are_written_down_and_read() {
        assert_eq!(decode("2", 5), Some(vec![0, 0, 1, 1, 2]));
        for clusters in [vec![0], vec![0, 1, 0, 1], vec![3, 3, 0, 0, 0]] {
            assert_eq!(decode(&encode(&clusters), clusters.len()), Some(clusters));
        }
        for wrong in ["", "0", "2*0", "4*0", "3*9", "1*0,-1*1", "a*b", "1*0,2*1,"] {
            assert_eq!(decode(wrong, 3), None, "{wrong}");
        }
    }

    #[test]
    fn a_world_that_joins_is_a_cluster_of_its_own() {
        let world = |first, size| World { first, size, parent: Some(Rank(0)) };
        let once = joined_by("2", 3, world(3, 2)).expect("a number of ranks");
        let twice = joined_by(&once, 5, world(5, 1)).expect("what was written");
        assert_eq!(decode(&twice, 6), Some(vec![0, 0, 1, 3, 3, 5]));
        assert_eq!(joined_by("1*0", 2, world(2, 1)), None);
        let between = || Box::new(Pessimistic::new(false, true));
        let mut before = Hierarchical::new(waves(), between(), Rank(0), &[0, 0]);
        before.on_newcomers(2);
        let shared: Vec<bool> = (0..4).map(|rank| before.shares_waves(Rank(rank))).collect();
        assert_eq!(shared, [true, true, false, false]);
        assert!(before.logs_payload(Rank(2)) && before.logs_payload(Rank(3)));
        let new = Hierarchical::new(waves(), between(), Rank(2), &[0, 0, 2, 2]);
        let shared: Vec<bool> = (0..4).map(|rank| new.shares_waves(Rank(rank))).collect();
        assert_eq!(shared, [false, false, true, true]);
    }

    #[test]
    fn payload_stays_for_others_and_every_event_gates_also_for_cluster_peers() {
        let between = Box::new(Pessimistic::new(false, true));
        let mut p = Hierarchical::new(waves(), between, Rank(1), &[0, 0, 1, 1]);
        let logged: Vec<bool> = (0..4).map(|rank| p.logs_payload(Rank(rank))).collect();
        assert_eq!(logged, [false, false, true, true]);
        assert!(p.shares_waves(Rank(0)) && !p.shares_waves(Rank(2)) && p.hooks().log_payload);
        p.on_match(1, Rank(0), Ssn(1));
        assert_eq!(p.on_send(Rank(0), Ssn(1)), SendVerdict::After(EventNo(1)));
    }

    #[test]
    fn frames_of_the_two_halves_do_not_meet() {
        let piggyback = causal::Piggyback::Vcausal;
        let (all, clock, logger, carry) = (false, true, false, false);
        let settings = causal::Settings { all, clock, piggyback, logger, carry };
        let incarnations = [Incarnation(0); 3];
        let between = || Box::new(Causal::new(settings, Rank(0), &incarnations));
        let mut p = Hierarchical::new(waves(), between(), Rank(0), &[0, 0, 1]);
        let marker = Marker { wave: Wave(4), stage: Stage::Begun, count: 0 };
        p.on_frame(Rank(1), &marker.encode());
        assert_eq!(p.next_command(), Some(Command::KeepSent));
        assert!(matches!(p.next_command(), Some(Command::Mark(_))));
        // A new incarnation asks its peers by frames of the logging protocol.
        let mut p = Hierarchical::new(waves(), between(), Rank(0), &[0, 0, 1]);
        p.on_new_incarnation(EventNo(0), &[Incarnation(1), Incarnation(1), Incarnation(0)]);
        p.on_restart(EventNo(0), Vec::new());
        let mut said = Vec::new();
        p.resume(Rank(2), &mut said);
        p.on_joined(Rank(2), &said);
        let commands: Vec<_> = std::iter::from_fn(|| p.next_command()).collect();
        let frames = commands.iter().filter_map(|command| match command {
            Command::Send { payload, .. } | Command::SendFirst { payload, .. } => Some(payload),
            _ => None,
        });
        let frames: Vec<_> = frames.collect();
        assert!(
            !frames.is_empty() && frames.iter().all(|frame| frame[0] == LOGGING),
            "{commands:?}"
        );
    }
}
