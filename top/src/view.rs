//! The screen: the job, its ranks by host, servers and faults; or one rank; or the keys.

use crate::app::{App, Mode, Row};
use ftmpi_servers::exposure::{duration, exposure};
use ftmpi_wire::job_control::Verb;
use ftmpi_wire::job_status::{
    FaultStatus, Health, HostState, HostStatus, JobPhase, JobStatus, RankState, RankStatus,
    ServerStatus, StandbyStatus, Wait, WaitReason,
};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table};

/// Lines about servers, waves and faults below the ranks, at the most.
const FOOT_LINES: u16 = 8;

/// A time in words.
pub fn age(seconds: f64) -> String {
    duration(seconds)
}

/// A size in words.
pub fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, 0);
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 9.95);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// The job in one line.
pub fn head_line(status: &JobStatus) -> String {
    let job = &status.job;
    let phase = match job.phase {
        JobPhase::Starting => "starting",
        JobPhase::Running => "running",
        JobPhase::Suspending => "taking last images",
    };
    let gone = status.count(RankState::Done);
    let ended = if gone > 0 { format!(", {gone} ended") } else { String::new() };
    format!(
        "{}: {}, {phase} for {}, {} ranks{ended}, {} images ({}), {} of {} restarts",
        job.command,
        job.protocol,
        age(job.elapsed_s),
        status.ranks.len(),
        job.images,
        size(job.image_bytes),
        job.restarts,
        job.restarts_max
    )
}

/// A host in one line.
pub fn host_line(host: &HostStatus) -> String {
    let state = match host.state {
        HostState::Starting => "its agent starts",
        HostState::Up => "up",
        HostState::Gone => "gone",
    };
    let mut line = format!("host {}: {state}", host.name);
    if let Some(processors) = host.processors {
        line += &format!(", {processors} processors");
    }
    line += &format!(", {} ranks", host.ranks.len());
    if host.drained {
        line += ", drained";
    }
    if host.health != Health::Good {
        let why = host.health_why.as_deref().map_or(String::new(), |why| format!(" ({why})"));
        line += &format!(", health {}{why}", host.health.name());
    }
    line
}

/// What a rank waits for.
pub fn wait_text(wait: &Wait) -> String {
    let call = wait.call.as_deref().unwrap_or("a call");
    let peers = match &wait.peers[..] {
        [] if wait.any_source => "any rank".to_owned(),
        [] => String::new(),
        [one] => format!("rank {one}"),
        several => {
            let list: Vec<String> = several.iter().map(ToString::to_string).collect();
            let word = if wait.one_is_enough { "one of ranks" } else { "ranks" };
            format!("{word} {}", list.join(", "))
        }
    };
    let text = match wait.reason {
        WaitReason::Message if peers.is_empty() => call.to_owned(),
        WaitReason::Message => format!("{call} from {peers}"),
        WaitReason::Send | WaitReason::Channel if peers.is_empty() => call.to_owned(),
        WaitReason::Send | WaitReason::Channel => format!("{call} to {peers}"),
        WaitReason::Collective | WaitReason::OneSided if !peers.is_empty() => {
            format!("{call} with {peers}")
        }
        WaitReason::EventLogger => format!("{call}: the event logger"),
        WaitReason::Recovery => format!("{call}: what was recorded"),
        _ => call.to_owned(),
    };
    match wait.tag {
        Some(tag) => format!("{text}, tag {tag}"),
        None => text,
    }
}

/// A server in one line.
pub fn server_line(server: &ServerStatus) -> String {
    let host = server.host.as_deref().map_or(String::new(), |host| format!(" on {host}"));
    let state = if server.up { "is up" } else { "is down" };
    let restarts = match server.restarts {
        0 => String::new(),
        1 => ", started again once".to_owned(),
        times => format!(", started again {times} times"),
    };
    format!("{}{host} {state}{restarts}", server.name)
}

/// The waves in one line, if there are waves.
pub fn wave_line(status: &JobStatus) -> Option<String> {
    let waves = status.waves.as_ref()?;
    let last =
        waves.age_s.map_or("none yet".to_owned(), |old| format!("the last {} ago", age(old)));
    let now = if waves.under_way > 0 { ", one is being taken" } else { "" };
    Some(format!("waves: {} complete, {} void, {last}{now}", waves.complete, waves.void))
}

/// A failure in one line.
pub fn fault_line(fault: &FaultStatus) -> String {
    let back = match (fault.back_s, fault.image) {
        (None, _) => "not back yet".to_owned(),
        (Some(time), None) => format!("back from its start after {}", age(time)),
        (Some(time), Some(image)) => format!("back from image {image} after {}", age(time)),
    };
    format!("{}: rank {}: {}; {back}", age(fault.at_s), fault.rank, fault.cause)
}

fn style_of(state: RankState) -> Style {
    match state {
        RankState::Computing => Style::new().fg(Color::Green),
        RankState::Waiting => Style::new().fg(Color::Blue),
        RankState::CatchingUp => Style::new().fg(Color::Magenta),
        RankState::Starting | RankState::Restoring => Style::new().fg(Color::Yellow),
        RankState::WaitsForHost | RankState::Stopped | RankState::Ending => {
            Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)
        }
        RankState::Blocked => Style::new().fg(Color::Yellow),
        RankState::Finalizing | RankState::Done => Style::new().add_modifier(Modifier::DIM),
    }
}

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, app: &mut App, title: &str) {
    let Some(status) = app.status.clone() else { return };
    let notes = notes(&status);
    let foot = (notes.len() as u16).min(FOOT_LINES).min(frame.area().height / 3);
    let [head, body, below, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(foot),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, head, &status);
    match &app.mode {
        Mode::Help => draw_help(frame, body),
        Mode::Rank(rank) => draw_rank(frame, body, &status, *rank),
        Mode::Overview | Mode::Confirm(_) => draw_ranks(frame, body, app, &status),
    }
    let skipped = notes.len() - usize::from(foot);
    frame.render_widget(Paragraph::new(notes.into_iter().skip(skipped).collect::<Vec<_>>()), below);
    draw_keys(frame, keys, app, title);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, status: &JobStatus) {
    let exposure = exposure(status);
    let lines = vec![
        Line::from(head_line(status)).bold(),
        Line::from(vec![Span::from("if a rank died now: ").dim(), Span::from(exposure.text)]),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

/// What stands below the ranks.
fn notes(status: &JobStatus) -> Vec<Line<'static>> {
    let mut notes: Vec<Line<'static>> = wave_line(status).into_iter().map(Line::from).collect();
    for server in &status.servers {
        let line = Line::from(server_line(server));
        notes.push(if server.up { line.dim() } else { line.red().bold() });
    }
    for fault in status.faults.iter().rev().take(4).rev() {
        let line = Line::from(fault_line(fault));
        notes.push(if fault.back_s.is_some() { line } else { line.red() });
    }
    notes
}

fn draw_ranks(frame: &mut Frame<'_>, area: Rect, app: &mut App, status: &JobStatus) {
    let room = usize::from(area.height.saturating_sub(1));
    app.room = room;
    let rows = app.rows();
    let first = app.first_shown(room);
    let wide = area.width >= 100;
    let shown = rows.iter().enumerate().skip(first).take(room).map(|(index, row)| {
        let row = match row {
            Row::Host(host) => host_row(&status.hosts[*host], app),
            Row::Rank(rank) => rank_row(status, *rank, app.rates.get(*rank).copied(), wide),
        };
        if index == app.chosen { row.style(Modifier::REVERSED) } else { row }
    });
    let [state, time, image] = if wide { [21, 10, 18] } else { [12, 8, 15] };
    let mut widths = vec![
        Constraint::Length(6),
        Constraint::Length(state),
        Constraint::Length(time),
        Constraint::Fill(1),
        Constraint::Length(image),
    ];
    let mut names = vec!["rank", "state", "for", "waits for", "image"];
    if wide {
        widths.extend([Constraint::Length(14), Constraint::Length(10), Constraint::Length(6)]);
        names.extend(["log", "sent a s", "failed"]);
    }
    let header = TableRow::new(names).style(Style::new().dim());
    frame.render_widget(Table::new(shown, widths).header(header).column_spacing(1), area);
}

fn host_row<'a>(host: &HostStatus, app: &App) -> TableRow<'a> {
    let sign = if app.is_folded(&host.name) { "+" } else { "-" };
    let good = host.state == HostState::Up && !host.drained && host.health == Health::Good;
    let style = if good { Style::new().bold() } else { Style::new().bold().fg(Color::Red) };
    // The line runs over the columns: a cell for each would cut it.
    TableRow::new([Cell::from(sign).column_span(1), Cell::from(host_line(host)).column_span(7)])
        .style(style)
}

fn rank_row<'a>(status: &JobStatus, index: usize, rate: Option<f64>, wide: bool) -> TableRow<'a> {
    let rank = &status.ranks[index];
    let mut cells = vec![
        Cell::from(format!("{:>5}", rank.rank)),
        Cell::from(rank.state.name()).style(style_of(rank.state)),
        Cell::from(age(rank.wait.as_ref().map_or(rank.state_s, |wait| wait.since_s))),
        Cell::from(rank.wait.as_ref().map_or_else(|| standby_text(rank), wait_text)),
        Cell::from(image_text(rank)),
    ];
    if wide {
        cells.push(Cell::from(log_text(rank)));
        cells.push(Cell::from(rate.map_or(String::new(), |rate| format!("{rate:.0}"))));
        let failed = if rank.failures > 0 { rank.failures.to_string() } else { String::new() };
        cells.push(Cell::from(failed).style(Style::new().fg(Color::Red)));
    }
    TableRow::new(cells)
}

/// Where a wait would stand.
fn standby_text(rank: &RankStatus) -> String {
    rank.standby.as_ref().map_or_else(String::new, StandbyStatus::in_words)
}

fn image_text(rank: &RankStatus) -> String {
    match (rank.taking_image_s, rank.image) {
        (Some(since), _) => format!("is taken, {}", age(since)),
        (None, None) => "none".to_owned(),
        (None, Some(image)) => match image.age_s {
            Some(old) => format!("{}, {} old", image.image, age(old)),
            None => format!("{}, earlier run", image.image),
        },
    }
}

fn log_text(rank: &RankStatus) -> String {
    match rank.log_limit_bytes {
        Some(limit) if limit > 0 => {
            format!(
                "{} {:>3.0} %",
                size(rank.log_bytes),
                100.0 * rank.log_bytes as f64 / limit as f64
            )
        }
        _ => size(rank.log_bytes),
    }
}

fn draw_rank(frame: &mut Frame<'_>, area: Rect, status: &JobStatus, number: u32) {
    let Some(rank) = status.ranks.iter().find(|rank| rank.rank == number) else { return };
    let fact = |name: &'static str, value: String| {
        Line::from(vec![Span::from(format!("{name:<22}")).dim(), Span::from(value)])
    };
    let pid = rank.pid.map_or("none".to_owned(), |pid| pid.to_string());
    let mut lines = vec![
        Line::from(format!("rank {number} on {}", rank.host)).bold(),
        fact("state", format!("{} for {}", rank.state.name(), age(rank.state_s))),
        fact("incarnation, process", format!("{}, {pid}", rank.incarnation)),
        fact("newest image", image_text(rank)),
        fact("sender log", log_text(rank)),
        fact("messages sent", format!("{} ({})", rank.messages_sent, size(rank.bytes_sent))),
        fact(
            "messages received",
            format!("{} ({})", rank.messages_received, size(rank.bytes_received)),
        ),
        fact("without a message for", age(rank.idle_s)),
    ];
    if let Some(wait) = &rank.wait {
        let text = format!("{} for {}", wait_text(wait), age(wait.since_s));
        lines.insert(2, fact("waits for", text));
    }
    lines.push(Line::from(""));
    let faults = status.faults.iter().filter(|fault| fault.rank == number);
    let mut history: Vec<Line<'_>> = faults.map(|fault| Line::from(fault_line(fault))).collect();
    for move_ in status.migrations.iter().filter(|move_| move_.rank == number) {
        let to = move_.to.as_deref().unwrap_or("another host");
        let text = format!("{}: moves from {} to {to}", age(move_.at_s), move_.from);
        history.push(Line::from(text));
    }
    if history.is_empty() {
        history.push(Line::from("it has not failed").dim());
    }
    let room = usize::from(area.height).saturating_sub(lines.len());
    let skipped = history.len().saturating_sub(room);
    lines.extend(history.into_iter().skip(skipped));
    frame.render_widget(Paragraph::new(lines), area);
}

const KEYS: &[(&str, &str)] = &[
    ("up, down, k, j", "choose a rank or host; PgUp, PgDn, Home, End go further"),
    ("Enter", "the history of a rank; on a host: fold or unfold its ranks"),
    ("f", "fold or unfold all hosts"),
    ("t", "only ranks that neither compute nor wait, or that have failed"),
    ("i", "ask for an image of every rank"),
    ("d", "drain the chosen host: its ranks move; again: it takes ranks"),
    ("?", "these keys"),
    ("Esc", "back; in the overview: end"),
    ("q, Ctrl-C", "end; the job goes on"),
];

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let line = |(key, text): &(&'static str, &'static str)| {
        Line::from(vec![Span::from(format!("{key:<16}")).bold(), Span::from(*text)])
    };
    frame.render_widget(Paragraph::new(KEYS.iter().map(line).collect::<Vec<_>>()), area);
}

fn draw_keys(frame: &mut Frame<'_>, area: Rect, app: &App, title: &str) {
    let line = match (&app.mode, &app.ended, app.said.back()) {
        (Mode::Confirm(verb), ..) => Line::from(question(verb)).yellow().bold(),
        (_, Some(why), _) => Line::from(format!("{why}; q ends this view")).red().bold(),
        (_, None, Some(said)) => Line::from(said.clone()).yellow(),
        (_, None, None) => {
            let filter = if app.only_trouble { " · only trouble (t)" } else { "" };
            Line::from(format!("? keys · i images · d drain · q end{filter} · {title}")).dim()
        }
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn question(verb: &Verb) -> String {
    match verb {
        Verb::Images => "take an image of every rank now? y or n".to_owned(),
        Verb::Drain { host } => format!("move all ranks away from {host}? y or n"),
        Verb::Undrain { host } => format!("let ranks begin on {host} again? y or n"),
        _ => "y or n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Key;
    use crate::samples;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen(app: &mut App, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, app, "/scratch/job")).unwrap();
        let buffer = terminal.backend().buffer();
        let cell = |x, y| buffer.cell((x, y)).map_or(" ", |cell| cell.symbol());
        (0..height).map(|y| (0..width).map(|x| cell(x, y)).collect::<String>()).collect()
    }

    fn app() -> App {
        let mut app = App::new();
        app.update(Box::new(samples::job()));
        app
    }

    #[test]
    fn the_overview_shows_ranks_by_host_with_what_they_wait_for() {
        let screen = screen(&mut app(), 120, 24);
        assert!(screen[0].starts_with("./heat 4000: pessimistic, running for 4 m 10 s, 4 ranks"));
        assert!(screen[1].contains("repeats at most 4 m 10 s (rank 2)"), "{}", screen[1]);
        assert!(screen[3].contains("- ") && screen[3].contains("host node1: up, 2 processors"));
        assert!(screen[4].contains("computes") && screen[4].contains("is taken, 0.3 s"));
        let waiting = &screen[5];
        assert!(waiting.contains("waits") && waiting.contains("MPI_Recv from rank 2, tag 7"));
        assert!(waiting.contains("3, 8.5 s old") && waiting.contains("1.5 MB  50 %"), "{waiting}");
        assert!(screen[7].contains("catches up") && screen[7].trim_end().ends_with('2'));
        let text = screen.join("\n");
        assert!(text.contains("checkpoint server on node2 is down, started again 3 times"));
        assert!(text.contains("SIGSEGV"), "{text}");
        assert!(screen[23].starts_with("? keys"));
    }

    #[test]
    fn a_small_terminal_shows_the_chosen_row_and_no_columns_that_do_not_fit() {
        let mut app = app();
        app.press(Key::End);
        let screen = screen(&mut app, 60, 12);
        let text = screen.join("\n");
        assert!(text.lines().any(|line| line.starts_with("    3  computes")), "{text}");
        assert!(text.contains("MPI_Recv") && !screen[2].contains("failed"), "{text}");
    }

    #[test]
    fn no_size_of_a_terminal_is_too_small() {
        for (width, height) in [(1, 1), (10, 3), (20, 5), (300, 100)] {
            for keys in [&[][..], &[Key::Down, Key::Enter], &[Key::Char('?')], &[Key::Char('i')]] {
                let mut app = app();
                keys.iter().for_each(|key| {
                    app.press(*key);
                });
                screen(&mut app, width, height);
            }
        }
    }

    #[test]
    fn the_page_of_a_rank_tells_its_history_and_the_question_is_asked() {
        let mut app = app();
        for _ in 0..4 {
            app.press(Key::Down);
        }
        app.press(Key::Enter);
        let text = screen(&mut app, 100, 24).join("\n");
        assert!(text.contains("rank 2 on node2") && text.contains("back from image 2 after 0.9 s"));
        assert!(text.contains("SIGSEGV); not back yet"), "{text}");
        app.press(Key::Char('d'));
        let text = screen(&mut app, 100, 24).join("\n");
        assert!(text.contains("move all ranks away from node2? y or n"), "{text}");
        app.press(Key::Char('n'));
        app.ended = Some("the job has ended".into());
        assert!(screen(&mut app, 100, 24)[23].starts_with("the job has ended; q ends"));
    }

    #[test]
    fn what_a_rank_waits_for_is_a_phrase() {
        let mut wait = samples::job().ranks[1].wait.clone().unwrap();
        assert_eq!(wait_text(&wait), "MPI_Recv from rank 2, tag 7");
        (wait.tag, wait.peers, wait.any_source) = (None, vec![], true);
        assert_eq!(wait_text(&wait), "MPI_Recv from any rank");
        (wait.reason, wait.peers, wait.one_is_enough) = (WaitReason::Collective, vec![1, 3], false);
        wait.call = Some("MPI_Allreduce".into());
        assert_eq!(wait_text(&wait), "MPI_Allreduce with ranks 1, 3");
        (wait.reason, wait.call) = (WaitReason::EventLogger, None);
        assert_eq!(wait_text(&wait), "a call: the event logger");
    }
}
