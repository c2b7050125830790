//! The state of the job for all viewers: asked for once, sent to each.

use super::{Ask, Question};
use crate::tuning::dashboard::{INTERVAL, STATE_LIMIT, STATE_SHARE, VIEWERS_MAX};
use bytes::Bytes;
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};

/// What viewers see when the launcher answers no more.
const ENDED: &str = "event: ended\ndata: {}\n\n";

/// The newest event, for all viewers.
pub(super) struct Live {
    latest: watch::Receiver<Bytes>,
    /// Somebody looks.
    looks: Arc<Notify>,
    places: Arc<Semaphore>,
}

impl Live {
    /// Asks as long as somebody looks.
    pub(super) fn start(ask: Ask) -> Self {
        let (sender, latest) = watch::channel(Bytes::new());
        let looks = Arc::new(Notify::new());
        tokio::spawn(keep_asking(ask, sender, looks.clone()));
        Self { latest, looks, places: Arc::new(Semaphore::new(VIEWERS_MAX)) }
    }

    /// The events for one viewer. `None`: there are too many.
    pub(super) fn watch(&self) -> Option<Body> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let mut latest = self.latest.clone();
        // The viewer shows nothing older than its visit.
        latest.mark_unchanged();
        self.looks.notify_one();
        // One event is on its way; while it is, newer ones replace each other.
        let (events, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            let _place = place;
            loop {
                tokio::select! {
                    changed = latest.changed() => if changed.is_err() { break },
                    // The viewer has gone.
                    () = events.closed() => break,
                }
                let event = latest.borrow_and_update().clone();
                if !event.is_empty() && events.send(event).await.is_err() {
                    break;
                }
            }
            let _ = events.try_send(Bytes::from_static(ENDED.as_bytes()));
        });
        Some(Body(Content::Events(receiver)))
    }
}

async fn keep_asking(ask: Ask, sender: watch::Sender<Bytes>, looks: Arc<Notify>) {
    loop {
        // This module keeps one receiver itself.
        if sender.receiver_count() <= 1 {
            looks.notified().await;
        }
        let since = Instant::now();
        let (request, answer) = oneshot::channel();
        if ask.send((Question::Status, request)).is_err() {
            return;
        }
        match tokio::time::timeout(STATE_LIMIT, answer).await {
            Ok(Ok(state)) => {
                let _ = sender.send(Bytes::from(format!("event: status\ndata: {state}\n\n")));
            }
            // The launcher ends.
            Ok(Err(_)) => return,
            Err(_) => {}
        }
        tokio::time::sleep(INTERVAL.max(since.elapsed() * STATE_SHARE)).await;
    }
}

/// The body of an answer: all of it, or events as they come.
pub(super) struct Body(Content);

enum Content {
    Whole(Option<Bytes>),
    Events(mpsc::Receiver<Bytes>),
}

impl Body {
    /// All of it.
    pub(super) fn whole(text: Bytes) -> Self {
        Self(Content::Whole(Some(text).filter(|text| !text.is_empty())))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            Content::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Content::Events(events) => {
                events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Whole(None))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match &self.0 {
            Content::Whole(text) => {
                let length = text.as_ref().map_or(0, |text| text.len() as u64);
                hyper::body::SizeHint::with_exact(length)
            }
            Content::Events(_) => hyper::body::SizeHint::default(),
        }
    }
}
