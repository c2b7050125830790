//! A simulated rank: a coroutine on a stack in its arena. It runs until it waits, and can be copied
//! while it waits.

use crate::arena::{Arena, STACK};
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::num::NonZeroUsize;

/// Why a rank stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It waits for something to come.
    Rest,
    /// It lets others go first.
    Relax,
    /// It is at a point where its image may be taken.
    Image,
    /// It came to a named point where it is to die.
    Die,
    /// It depends on what was lost and ends its incarnation.
    RollBack,
    /// Its program is over.
    Over,
}

struct ArenaStack {
    top: usize,
    limit: usize,
}

// SAFETY: the range from `limit` to `top` belongs to the arena's stack and to nothing else. There
// is no guard page; the arena's header below it is checked for damage after every step.
unsafe impl Stack for ArenaStack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.top).expect("not null")
    }
    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.limit).expect("not null")
    }
}

type Routine = Coroutine<(), Pause, (), ArenaStack>;

/// Where a rank's code stops: valid inside its coroutine.
#[derive(Clone, Copy)]
pub struct Stop(*const Yielder<(), Pause>);

impl Stop {
    /// Stops; returns when the rank goes on.
    pub fn pause(self, why: Pause) {
        // SAFETY: the yielder lives as long as the coroutine that this is called in, at the same
        // address in every copy of it.
        unsafe { (*self.0).suspend(why) }
    }
}

/// A coroutine in an arena. The arena owns all of it; this is only the way in.
#[derive(Clone, Copy)]
pub struct Fiber(*mut Routine);

impl Fiber {
    /// Prepares `body` to run in `arena`.
    pub fn new(arena: &Arena, body: impl FnOnce(Stop) + 'static) -> Self {
        let (top, low) = arena.stack();
        arena.inside(|| {
            // The arena's header lies below the stack.
            let stack = ArenaStack { top: top & !15, limit: low.max(top - STACK + 4096) };
            let routine = Routine::with_stack(stack, move |yielder, ()| body(Stop(yielder)));
            Self(Box::into_raw(Box::new(routine)))
        })
    }

    /// Runs until the next pause.
    pub fn step(self, arena: &Arena) -> Pause {
        // SAFETY: the coroutine lies in the arena, which is in the state in which it paused.
        let routine = unsafe { &mut *self.0 };
        match arena.inside(|| routine.resume(())) {
            CoroutineResult::Yield(pause) => pause,
            CoroutineResult::Return(()) => Pause::Over,
        }
    }
}
