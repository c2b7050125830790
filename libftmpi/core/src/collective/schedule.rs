//! A collective operation as a list of steps, and its executor (MPI-4.1, 6.12 and 6.13).
//!
//! Guarantees: the list is fixed when the operation is called. The identity of every message
//! ([`Carrier::reserve`]) and the order of every reduction are fixed with it. Executing the list
//! earlier or later, in one go or in many, changes neither. Collectives are therefore repeatable in
//! a replay and bitwise reproducible between runs.
//!
//! The form follows Hoefler, Lumsdaine, Rehm: "Implementation and Performance Analysis of
//! Non-Blocking Collective Operations for MPI" (SC 2007). A schedule has rounds of communication,
//! separated by [`Step::Fence`], with local work between them.

use super::pool::Pool;
use super::step::Step;
use crate::engine::{Completion, RecvData, SendData, is_of_faults};
use crate::error::ErrorClass;
use crate::op::Op;
use crate::usermem::Scratch;
use ftmpi_wire::{Rank, Ssn};

/// The part of the engine that schedules need; the tests of the algorithms put a model in its
/// place.
pub trait Carrier {
    /// A send or receive that is not complete.
    type Request: Copy + std::fmt::Debug;
    /// Gives the next message to `to` its identity.
    fn reserve(&mut self, to: Rank) -> Ssn;
    /// Sends a reserved message; `None` if the payload was taken at once.
    fn send(
        &mut self,
        ssn: Ssn,
        data: SendData,
        to: Rank,
        context: u32,
        tag: i32,
    ) -> Option<Self::Request>;
    /// Posts a receive.
    fn receive(&mut self, into: RecvData, from: Rank, context: u32, tag: i32) -> Self::Request;
    /// Whether the request is complete.
    fn is_done(&self, request: Self::Request) -> bool;
    /// Takes the result of a complete request, which is gone thereafter.
    fn finish(&mut self, request: Self::Request) -> Completion;
}

/// A collective operation of this rank that is not complete.
pub struct Schedule<R> {
    pub(super) context: u32,
    pub(super) steps: Vec<Step>,
    pub(super) scratch: Vec<Scratch>,
    next: usize,
    pending: Vec<R>,
    error: Option<ErrorClass>,
    error_text: Option<String>,
}

impl<R: Copy + std::fmt::Debug> Schedule<R> {
    pub(super) fn new(context: u32, steps: Vec<Step>, scratch: Vec<Scratch>) -> Self {
        Self {
            context,
            steps,
            scratch,
            next: 0,
            pending: Vec::new(),
            error: None,
            error_text: None,
        }
    }

    /// Goes as far as possible without waiting; true when everything is done.
    pub fn advance<C: Carrier<Request = R>>(&mut self, carrier: &mut C) -> bool {
        loop {
            if self.error.is_some_and(is_of_faults) {
                // What is sent from here on would be made of half of the data.
                self.next = self.steps.len();
            }
            let fence = match self.steps.get(self.next) {
                None | Some(Step::Fence) => true,
                Some(Step::Compare { verdict, mine, all, ranks }) => {
                    let mut records = vec![0; mine.len() * ranks];
                    all.read(&mut records);
                    if let Err(why) = verdict(mine, &records) {
                        (self.error, self.error_text) =
                            (Some(why.class), Some(why.text.into_owned()));
                        self.next = self.steps.len();
                        continue;
                    }
                    false
                }
                Some(step) => {
                    Self::begin(step, self.context, carrier, &mut self.pending, &mut self.error);
                    false
                }
            };
            if fence {
                while let Some(&request) = self.pending.last() {
                    if !carrier.is_done(request) {
                        return false;
                    }
                    self.pending.pop();
                    let completion = carrier.finish(request);
                    self.error = self.error.or(completion.error);
                }
                if self.next >= self.steps.len() || self.error.is_some_and(is_of_faults) {
                    return true;
                }
            }
            self.next += 1;
        }
    }

    /// A request that must be complete before [`Schedule::advance`] can go on.
    #[must_use]
    pub fn waits_for(&self) -> Option<R> {
        self.pending.last().copied()
    }

    /// Takes the completion of the request that [`Schedule::waits_for`] named, which was finished
    /// elsewhere.
    pub fn completed(&mut self, completion: &Completion) {
        self.pending.pop();
        self.error = self.error.or(completion.error);
    }

    fn begin<C: Carrier<Request = R>>(
        step: &Step,
        context: u32,
        carrier: &mut C,
        pending: &mut Vec<R>,
        error: &mut Option<ErrorClass>,
    ) {
        match step {
            Step::Send { ssn, to, tag, data } => {
                pending.extend(carrier.send(*ssn, data.to_send(), *to, context, *tag));
            }
            Step::Recv { from, tag, into } => {
                pending.push(carrier.receive(into.to_receive(), *from, context, *tag));
            }
            Step::Reduce { op, datatype, count, input, inout } => {
                // An operation of the program may let other threads in, which change what carries
                // us: the compiler must not think it knows it.
                std::hint::black_box(std::ptr::from_mut(carrier));
                if let Err(e) = op.apply(*input, *inout, *count, datatype) {
                    *error = error.or(Some(e.class));
                }
            }
            Step::Copy { from, to } => {
                if !from.copy_to(to) {
                    *error = error.or(Some(ErrorClass::Truncate));
                }
            }
            Step::Fence | Step::Compare { .. } => {}
        }
    }

    /// Whether a reduction is left that is a function of the program.
    #[must_use]
    pub fn calls_program(&self) -> bool {
        let mut left = self.steps.iter().skip(self.next);
        left.any(|step| matches!(step, Step::Reduce { op: Op::User(_), .. }))
    }

    /// Its first error.
    #[must_use]
    pub fn error(&self) -> Option<ErrorClass> {
        self.error
    }

    /// The text of its error, if that is more than the text of the class.
    pub fn take_error_text(&mut self) -> Option<String> {
        self.error_text.take()
    }

    /// Gives the memory back and returns the first error.
    pub fn dismantle(mut self, pool: &mut Pool) -> Option<ErrorClass> {
        debug_assert!(self.pending.is_empty(), "a schedule is dismantled while it runs");
        for scratch in self.scratch.drain(..) {
            pool.give_back(scratch);
        }
        self.steps.clear();
        pool.give_back_steps(self.steps, self.scratch);
        self.error
    }
}
