//! The pages of `--metrics` and `--dashboard`: their processes are started, and their questions are
//! answered with the state of the job.

use super::events::LauncherEvent;
use super::{Launcher, notices};
use crate::cli::Plan;
use crate::output::Printer;
use crate::page_process::{self, Page, Settings};
use anyhow::Context;
use ftmpi_servers::dashboard::Question;
use ftmpi_servers::exposure::exposure;
use ftmpi_servers::metrics::{self, StateRequest};
use ftmpi_transport::auth::JobKey;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};
use tokio::sync::mpsc;

/// Hexadecimal digits of a token.
const TOKEN_DIGITS: usize = 32;

/// Starts the pages that the user asked for.
///
/// # Errors
/// An address cannot be used.
pub fn serve(
    plan: &Plan,
    printer: &Printer,
    events: &mpsc::UnboundedSender<LauncherEvent>,
) -> anyhow::Result<()> {
    // The dashboard answers for the metrics, too.
    if let Some(address) = plan.metrics.filter(|address| plan.dashboard != Some(*address)) {
        let at = start((Page::Metrics, Settings::default()), address, events)?;
        printer.notice(notices::metrics_at(at));
    }
    if let Some(address) = plan.dashboard {
        let token = (!address.ip().is_loopback())
            .then(|| JobKey::generate().to_hex()[..TOKEN_DIGITS].to_owned());
        let settings = Settings { token: token.clone() };
        let at = start((Page::Dashboard, settings), address, events)?;
        printer.notice(notices::dashboard_at(at, token.as_deref()));
    }
    Ok(())
}

fn start(
    (page, settings): (Page, Settings),
    address: SocketAddr,
    events: &mpsc::UnboundedSender<LauncherEvent>,
) -> anyhow::Result<SocketAddr> {
    let (at, socket) = match page {
        Page::Metrics => metrics::bind(address)?,
        Page::Dashboard => bind(address)?,
    };
    let (asking, telling) = (events.clone(), events.clone());
    let ask = move |question: Question, request: StateRequest| {
        let _ = asking.send(LauncherEvent::StateWanted(question, request));
    };
    let tell = move |ended, why: &str| {
        let _ = telling.send(LauncherEvent::Notice(notices::page_ended(page, ended, why)));
    };
    tokio::spawn(page_process::keep((page, settings), socket, ask, tell));
    Ok(at)
}

fn bind(address: SocketAddr) -> anyhow::Result<(SocketAddr, TcpListener)> {
    let listen = || -> std::io::Result<(SocketAddr, TcpListener)> {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok((socket.local_addr()?, socket))
    };
    listen().with_context(|| {
        format!("--dashboard: cannot listen on {address}; choose another address or port")
    })
}

impl Launcher {
    /// Answers a question of a page.
    pub(super) fn state_wanted(&mut self, question: Question, request: StateRequest) {
        match question {
            Question::Metrics => self.answer_metrics(request),
            Question::Status => {
                let status = self.job_status();
                let _ = request.send(json!({ "exposure": exposure(&status), "status": status }));
            }
        }
    }
}
