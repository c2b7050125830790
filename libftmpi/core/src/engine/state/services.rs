//! When one-sided requests of other ranks are served, in calls of the program.

/// What the engine knows of services.
#[derive(Debug, Default)]
pub(crate) struct Services {
    /// Number of the call that the program is in, or makes next.
    call: u64,
    /// The call of the last service, or note of none, that was recorded.
    noted: u64,
    /// Windows on which other ranks may be served at any time.
    open: u32,
}

impl Services {
    /// Number of the call that the program is in, or makes next.
    pub fn call(&self) -> u64 {
        self.call
    }

    /// The call is over.
    pub fn call_ends(&mut self) {
        self.call += 1;
    }

    /// A service of this call, or that there is none, was recorded.
    pub fn noted(&mut self) {
        self.noted = self.call;
    }

    /// Whether it must be noted that nothing more was served until now.
    #[inline]
    pub fn need_note(&self) -> bool {
        self.open > 0 && self.noted < self.call
    }

    /// Whether other ranks may be served at any time.
    pub fn are_open(&self) -> bool {
        self.open > 0
    }

    /// One more window, or one less, on which other ranks may be served at any time.
    pub fn open(&mut self, one_more: bool) {
        self.open = self.open.saturating_add_signed(if one_more { 1 } else { -1 });
    }
}
