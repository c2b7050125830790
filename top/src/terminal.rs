//! The loop of the screen: keys and news, then a drawing.

use crate::app::{Act, App, Key};
use crate::feed::{Feed, News};
use crate::view;
use anyhow::Context;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::Duration;

/// Time between two looks for keys and news.
const STEP: Duration = Duration::from_millis(50);

/// Shows the job until the user leaves; `until_end`: or the job ends.
///
/// # Errors
/// The terminal cannot be used, or the job is not there.
pub fn run(feed: Feed, until_end: bool) -> anyhow::Result<()> {
    // Without a first state there is nothing to show, and the reason belongs on the terminal.
    let mut app = App::new();
    loop {
        match feed.next() {
            News::Status(status) => {
                app.update(status);
                break;
            }
            News::Said(text) => app.say(text),
            News::Ended { text, .. } => anyhow::bail!(text),
        }
    }
    let mut terminal = ratatui::try_init().context("the terminal")?;
    let shown = show(&mut terminal, &feed, &mut app, until_end);
    ratatui::restore();
    shown
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    feed: &Feed,
    app: &mut App,
    until_end: bool,
) -> anyhow::Result<()> {
    let mut changed = true;
    loop {
        if changed {
            terminal.draw(|frame| view::draw(frame, app, &feed.title)).context("the terminal")?;
        }
        changed = take_news(feed, app);
        if until_end && app.ended.is_some() {
            return Ok(());
        }
        while event::poll(Duration::ZERO).context("the keyboard")? {
            changed = true;
            let Event::Key(key) = event::read().context("the keyboard")? else { continue };
            match key_of(key).map(|key| app.press(key)) {
                Some(Act::Quit) => return Ok(()),
                Some(Act::Ask(verb)) => feed.requests().ask(verb),
                Some(Act::Stay) | None => {}
            }
        }
    }
}

/// Takes the news of one step; whether there were any.
fn take_news(feed: &Feed, app: &mut App) -> bool {
    if app.ended.is_some() {
        std::thread::sleep(STEP);
        return false;
    }
    match feed.next_within(STEP) {
        None => return false,
        Some(News::Status(status)) => app.update(status),
        Some(News::Said(text)) => app.say(text),
        Some(News::Ended { text, .. }) => app.ended = Some(text),
    }
    true
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    Some(match event.code {
        KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => Key::Char('q'),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}
