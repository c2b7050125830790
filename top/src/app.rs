//! What the user of the screen has chosen, and what keys do. No input or output.

use ftmpi_wire::job_control::Verb;
use ftmpi_wire::job_status::{JobStatus, RankState};
use std::collections::{BTreeSet, VecDeque};

/// Lines about requests that are kept.
const SAID_MAX: usize = 50;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A letter or sign.
    Char(char),
    /// To the row above.
    Up,
    /// To the row below.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// Opens.
    Enter,
    /// Closes.
    Escape,
}

/// What the screen shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// Ranks by host.
    Overview,
    /// One rank.
    Rank(u32),
    /// The keys.
    Help,
    /// A question before a request.
    Confirm(Verb),
}

/// A row of the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// A host: its index.
    Host(usize),
    /// A rank: its index.
    Rank(usize),
}

/// What a key leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Nothing outside.
    Stay,
    /// The end of the program.
    Quit,
    /// A request to the launcher.
    Ask(Verb),
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The newest state of the job.
    pub status: Option<Box<JobStatus>>,
    /// What is shown.
    pub mode: Mode,
    /// The chosen row.
    pub chosen: usize,
    /// Rows that fit on the screen, as the last drawing found.
    pub room: usize,
    /// Only ranks that neither compute nor wait for a peer.
    pub only_trouble: bool,
    /// The job has ended, and why.
    pub ended: Option<String>,
    /// Lines about requests, newest last.
    pub said: VecDeque<String>,
    /// Messages a second of each rank.
    pub rates: Vec<f64>,
    /// Hosts whose ranks are not shown, by name.
    folded: BTreeSet<String>,
}

impl App {
    /// Nothing is known.
    pub fn new() -> Self {
        Self {
            status: None,
            mode: Mode::Overview,
            chosen: 0,
            room: 20,
            only_trouble: false,
            ended: None,
            said: VecDeque::new(),
            rates: Vec::new(),
            folded: BTreeSet::new(),
        }
    }

    /// A new state of the job.
    pub fn update(&mut self, status: Box<JobStatus>) {
        let before = self.status.take();
        self.rates = before.map_or_else(Vec::new, |before| {
            let time = status.job.elapsed_s - before.job.elapsed_s;
            let pairs = status.ranks.iter().zip(&before.ranks);
            // A rank that came back counts from its image on.
            let rate = |(now, then): (u64, u64)| now.saturating_sub(then) as f64 / time.max(1e-3);
            pairs.map(|(now, then)| rate((now.messages_sent, then.messages_sent))).collect()
        });
        self.status = Some(status);
        self.choose(self.chosen);
    }

    /// A line about a request.
    pub fn say(&mut self, text: String) {
        if !text.is_empty() {
            if self.said.len() == SAID_MAX {
                self.said.pop_front();
            }
            self.said.push_back(text);
        }
    }

    /// Whether a rank is what somebody looks for who looks for trouble.
    pub fn is_trouble(status: &JobStatus, rank: usize) -> bool {
        let rank = &status.ranks[rank];
        let usual = [RankState::Computing, RankState::Waiting, RankState::Done];
        !usual.contains(&rank.state) || rank.failures > 0
    }

    /// The rows of the overview.
    pub fn rows(&self) -> Vec<Row> {
        let Some(status) = &self.status else { return Vec::new() };
        let mut rows = Vec::new();
        for (index, host) in status.hosts.iter().enumerate() {
            rows.push(Row::Host(index));
            if self.folded.contains(&host.name) {
                continue;
            }
            let here = |rank: &usize| status.ranks[*rank].host == host.name;
            let shown = |rank: &usize| !self.only_trouble || Self::is_trouble(status, *rank);
            let ranks = (0..status.ranks.len()).filter(here).filter(shown);
            rows.extend(ranks.map(Row::Rank));
        }
        rows
    }

    /// Whether the ranks of a host are not shown.
    pub fn is_folded(&self, host: &str) -> bool {
        self.folded.contains(host)
    }

    /// The first row that is shown when so many fit.
    pub fn first_shown(&self, room: usize) -> usize {
        (self.chosen + 1).saturating_sub(room.max(1))
    }

    fn choose(&mut self, row: usize) {
        self.chosen = row.min(self.rows().len().saturating_sub(1));
    }

    fn row(&self) -> Option<Row> {
        self.rows().get(self.chosen).copied()
    }

    fn fold(&mut self, host: &str) {
        if !self.folded.remove(host) {
            self.folded.insert(host.to_owned());
        }
        self.choose(self.chosen);
    }

    fn fold_all(&mut self) {
        let Some(status) = &self.status else { return };
        let names: Vec<String> = status.hosts.iter().map(|host| host.name.clone()).collect();
        self.folded =
            if self.folded.is_empty() { names.into_iter().collect() } else { BTreeSet::new() };
        self.choose(self.chosen);
    }

    /// The host of the chosen row.
    fn chosen_host(&self) -> Option<usize> {
        let status = self.status.as_ref()?;
        match self.row()? {
            Row::Host(host) => Some(host),
            Row::Rank(rank) => {
                let name = &status.ranks[rank].host;
                status.hosts.iter().position(|host| host.name == *name)
            }
        }
    }

    /// A key was pressed.
    pub fn press(&mut self, key: Key) -> Act {
        if let Mode::Confirm(verb) = self.mode.clone() {
            self.mode = Mode::Overview;
            return match key {
                Key::Char('y' | 'Y') => Act::Ask(verb),
                _ => Act::Stay,
            };
        }
        match key {
            Key::Char('q') => return Act::Quit,
            Key::Escape if self.mode == Mode::Overview => return Act::Quit,
            Key::Escape => self.mode = Mode::Overview,
            Key::Char('?' | 'h') => {
                self.mode = if self.mode == Mode::Help { Mode::Overview } else { Mode::Help };
            }
            Key::Char('i') if self.ended.is_none() => self.mode = Mode::Confirm(Verb::Images),
            Key::Char('d') if self.ended.is_none() => self.drain(),
            Key::Enter => self.open(),
            Key::Up | Key::Char('k') => self.choose(self.chosen.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.choose(self.chosen + 1),
            Key::PageUp => self.choose(self.chosen.saturating_sub(self.room)),
            Key::PageDown => self.choose(self.chosen + self.room),
            Key::Home => self.choose(0),
            Key::End => self.choose(usize::MAX),
            Key::Char('f') => self.fold_all(),
            Key::Char('t') => {
                self.only_trouble = !self.only_trouble;
                self.choose(self.chosen);
            }
            Key::Char(_) => {}
        }
        self.follow();
        Act::Stay
    }

    /// The page of a rank follows the chosen row.
    fn follow(&mut self) {
        if let (Mode::Rank(_), Some(Row::Rank(rank))) = (&self.mode, self.row()) {
            self.mode = Mode::Rank(rank as u32);
        }
    }

    fn open(&mut self) {
        match (&self.mode, self.row()) {
            (Mode::Overview, Some(Row::Rank(rank))) => self.mode = Mode::Rank(rank as u32),
            (Mode::Overview, Some(Row::Host(host))) => {
                let name = self.status.as_ref().map(|status| status.hosts[host].name.clone());
                self.fold(&name.unwrap_or_default());
            }
            _ => self.mode = Mode::Overview,
        }
    }

    fn drain(&mut self) {
        let (Some(host), Some(status)) = (self.chosen_host(), &self.status) else { return };
        let (host, drained) = (status.hosts[host].name.clone(), status.hosts[host].drained);
        let verb = if drained { Verb::Undrain { host } } else { Verb::Drain { host } };
        self.mode = Mode::Confirm(verb);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn app() -> App {
        let mut app = App::new();
        app.update(Box::new(samples::job()));
        app
    }

    #[test]
    fn ranks_stand_below_their_hosts_and_hosts_fold() {
        let mut app = app();
        let all =
            [Row::Host(0), Row::Rank(0), Row::Rank(1), Row::Host(1), Row::Rank(2), Row::Rank(3)];
        assert_eq!(app.rows(), all);
        app.press(Key::End);
        assert_eq!(app.chosen, 5);
        app.press(Key::Home);
        app.press(Key::Enter);
        assert_eq!(app.rows()[..2], [Row::Host(0), Row::Host(1)]);
        app.press(Key::Enter);
        app.press(Key::Char('t'));
        assert_eq!(app.rows(), [Row::Host(0), Row::Host(1), Row::Rank(2)], "rank 2 has failed");
        app.press(Key::Char('t'));
        app.press(Key::Char('f'));
        assert_eq!(app.rows().len(), 2);
    }

    #[test]
    fn requests_are_asked_for_twice() {
        let mut app = app();
        app.press(Key::End);
        assert_eq!(app.press(Key::Char('d')), Act::Stay);
        assert_eq!(app.mode, Mode::Confirm(Verb::Drain { host: "node2".into() }));
        assert_eq!(app.press(Key::Char('n')), Act::Stay);
        assert_eq!(app.mode, Mode::Overview);
        app.press(Key::Char('i'));
        assert_eq!(app.press(Key::Char('y')), Act::Ask(Verb::Images));
        app.ended = Some("over".into());
        app.press(Key::Char('i'));
        assert_eq!(app.mode, Mode::Overview, "nobody is left to ask");
        assert_eq!(app.press(Key::Char('q')), Act::Quit);
    }

    #[test]
    fn a_drained_host_can_take_ranks_again() {
        let mut app = app();
        app.status.as_mut().unwrap().hosts[0].drained = true;
        app.press(Key::Char('d'));
        assert_eq!(app.mode, Mode::Confirm(Verb::Undrain { host: "node1".into() }));
    }

    #[test]
    fn the_page_of_a_rank_follows_the_keys_and_rates_come_from_two_states() {
        let mut app = app();
        app.press(Key::Down);
        app.press(Key::Enter);
        assert_eq!(app.mode, Mode::Rank(0));
        app.press(Key::Down);
        assert_eq!(app.mode, Mode::Rank(1));
        app.press(Key::Escape);
        assert_eq!(app.mode, Mode::Overview);
        let mut later = samples::job();
        later.job.elapsed_s += 2.0;
        later.ranks[0].messages_sent += 500;
        later.ranks[1].messages_sent = 0;
        app.update(Box::new(later));
        assert_eq!(app.rates[..2], [250.0, 0.0]);
    }

    #[test]
    fn a_shorter_list_keeps_the_choice_in_it() {
        let mut app = app();
        app.press(Key::End);
        let mut fewer = samples::job();
        fewer.hosts.pop();
        app.update(Box::new(fewer));
        assert!(app.chosen < app.rows().len());
        assert_eq!(app.first_shown(2), app.chosen - 1);
    }
}
