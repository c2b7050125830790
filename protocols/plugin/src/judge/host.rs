//! ftmpi's side: loads a library, checks its table, and makes a [`Library`] of it.

use super::{Input, JUDGE_VERSION, MAGIC, Output, PANICKED, SYMBOL, Table};
use crate::host::HOST;
use crate::table::Bytes;
use ftmpi_protocols::judge::library::{Case, Found, Library, Steps};
use ftmpi_protocols::judge::{Detector, Recovery};
use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::path::Path;

/// Why a library gives no detectors and recoveries.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The system cannot load it.
    #[error("cannot be loaded: {0}")]
    Load(libloading::Error),
    /// It lacks the symbol.
    #[error("has no function `{SYMBOL}`: it is no library with detectors or recoveries")]
    NoSymbol,
    /// The symbol leads to something else.
    #[error("its function `{SYMBOL}` gives no table of detectors")]
    NoTable,
    /// It was built for another version.
    #[error(
        "is built for version {theirs} of the table of detectors, this ftmpi has {JUDGE_VERSION}: \
         build it again"
    )]
    Version {
        /// The library's.
        theirs: u32,
    },
    /// A field or an answer has no meaning.
    #[error("its table makes no sense: {0}")]
    Senseless(&'static str),
    /// It has a name that is built in.
    #[error("its `{0}` has the name of a built-in one; it needs another name")]
    Taken(String),
}

/// Detectors and recoveries of a library. It is never unloaded.
#[derive(Debug)]
pub struct Judge {
    table: &'static Table,
    state: *mut c_void,
    detectors: Vec<&'static str>,
    recoveries: Vec<&'static str>,
    words: Vec<u8>,
}

// SAFETY: the table's contract: any thread may call, one at a time, and `&mut self` sees to that.
unsafe impl Send for Judge {}

impl Drop for Judge {
    fn drop(&mut self) {
        // SAFETY: `make` gave it, and this is its end.
        unsafe { (self.table.unmake)(self.state) }
    }
}

impl Judge {
    /// Loads a file.
    ///
    /// # Errors
    /// It is no library, or of another version.
    pub fn load(file: &Path) -> Result<Self, JudgeError> {
        // SAFETY: the user who names the file trusts what runs when it is loaded.
        let library = unsafe { libloading::Library::new(file) }.map_err(JudgeError::Load)?;
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        // SAFETY: a library that exports this name keeps to the contract of the table.
        let find = unsafe { library.get::<extern "C" fn() -> *const Table>(SYMBOL.as_bytes()) };
        let table = find.map_err(|_| JudgeError::NoSymbol)?();
        // SAFETY: a null pointer is seen. Any other pointer leads to a table or at least to its
        // first fields, which are the same in every version.
        unsafe { Self::of(table) }
    }

    /// Of a table.
    ///
    /// # Safety
    /// A pointer that is not null leads to the first 16 bytes of some version of a [`Table`]. If
    /// these bytes name this version, the pointer leads to a whole constant table.
    ///
    /// # Errors
    /// It is not of this version, or its first answer makes no sense.
    pub unsafe fn of(table: *const Table) -> Result<Self, JudgeError> {
        if table.is_null() || !table.is_aligned() {
            return Err(JudgeError::NoTable);
        }
        // SAFETY: the first fields are there; see above.
        let (magic, version, size) = unsafe {
            let begin = table.cast::<u8>();
            let word = |at: usize| begin.add(at).cast::<u32>().read();
            (begin.cast::<[u8; 8]>().read(), word(8), word(12))
        };
        if magic != MAGIC {
            return Err(JudgeError::NoTable);
        }
        if version != JUDGE_VERSION {
            return Err(JudgeError::Version { theirs: version });
        }
        if size as usize != size_of::<Table>() {
            return Err(JudgeError::Senseless("its size"));
        }
        // SAFETY: a whole table; see above.
        let table = unsafe { &*table };
        if table.name.is_null() {
            return Err(JudgeError::Senseless("it has no name"));
        }
        // SAFETY: a text of C that is constant.
        if unsafe { CStr::from_ptr(table.name) }.to_str().is_err() {
            return Err(JudgeError::Senseless("its name is not UTF-8"));
        }
        // SAFETY: the table's contract; the host lives for ever.
        let state = unsafe { (table.make)(&raw const HOST) };
        if state.is_null() {
            return Err(JudgeError::Senseless("it makes nothing"));
        }
        let mut judge =
            Self { table, state, detectors: Vec::new(), recoveries: Vec::new(), words: Vec::new() };
        let Ok(Output::Names { detectors, recoveries }) = judge.ask(&Input::Names) else {
            return Err(JudgeError::Senseless("it does not tell its names"));
        };
        let built_in = |name: &String| {
            Detector::named(name).is_some() || Recovery::named(name).is_some() || name.is_empty()
        };
        if let Some(taken) = detectors.iter().chain(&recoveries).find(|name| built_in(name)) {
            return Err(JudgeError::Taken(taken.clone()));
        }
        let kept = |names: Vec<String>| {
            names.into_iter().map(|name| &*Box::leak(name.into_boxed_str())).collect()
        };
        (judge.detectors, judge.recoveries) = (kept(detectors), kept(recoveries));
        Ok(judge)
    }

    fn ask(&mut self, input: &Input<'_>) -> Result<Output, String> {
        self.words.clear();
        let words = std::mem::take(&mut self.words);
        self.words = postcard::to_extend(input, words).map_err(|error| error.to_string())?;
        let mut reply = Bytes { at: std::ptr::null(), length: 0 };
        // SAFETY: the table's contract; the words and the place for the answer are valid for this
        // call.
        let code = unsafe {
            (self.table.call)(self.state, self.words.as_ptr(), self.words.len(), &raw mut reply)
        };
        if code == PANICKED {
            return Err("it panicked (what it said stands above)".to_owned());
        }
        if code != 0 || reply.at.is_null() {
            return Err(format!("it does not understand the question ({code})"));
        }
        // SAFETY: valid until the next call, by the table's contract.
        let bytes = unsafe { std::slice::from_raw_parts(reply.at, reply.length) };
        postcard::from_bytes(bytes).map_err(|_| "its answer makes no sense".to_owned())
    }
}

impl Library for Judge {
    fn detectors(&self) -> &[&'static str] {
        &self.detectors
    }

    fn recoveries(&self) -> &[&'static str] {
        &self.recoveries
    }

    fn look(
        &mut self,
        detector: &str,
        settings: &str,
        case: &Case,
    ) -> Result<Option<Found>, String> {
        match self.ask(&Input::Look { detector, settings, case: Cow::Borrowed(case) })? {
            Output::Found(found) => Ok(found),
            _ => Err("its answer is to another question".to_owned()),
        }
    }

    fn recover(
        &mut self,
        recovery: &str,
        settings: &str,
        case: &Case,
        found: &Found,
    ) -> Result<Option<Steps>, String> {
        let (case, found) = (Cow::Borrowed(case), Cow::Borrowed(found));
        match self.ask(&Input::Recover { recovery, settings, case, found })? {
            Output::Steps(steps) => Ok(steps),
            _ => Err("its answer is to another question".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::guest::{self, table};
    use ftmpi_protocols::judge::{Fact, HostName, Situation};
    use std::time::Duration;

    /// Recognises every second loss of a host.
    #[derive(Default)]
    struct Second(u32);

    impl guest::Judge for Second {
        const NAME: &'static CStr = c"second";
        const DETECTORS: &'static [&'static str] = &["second"];
        const RECOVERIES: &'static [&'static str] = &["flee"];

        fn look(&mut self, _: &str, settings: &str, case: &Case) -> Option<Found> {
            let Fact::Host { host, .. } = case.fact else { return None };
            self.0 += 1;
            let why = format!("loss {} ({settings})", self.0);
            self.0.is_multiple_of(2).then(|| Found { why, hosts: vec![host] })
        }

        fn recover(&mut self, _: &str, _: &str, _: &Case, found: &Found) -> Option<Steps> {
            let (shun, leave) = (found.hosts.clone(), found.hosts.clone());
            let (recovery, patience) = (Recovery::Migrate, Duration::from_secs(2));
            Some(Steps { recovery, patience, shun, leave })
        }
    }

    /// Calls itself as a built-in detector.
    #[derive(Default)]
    struct Thief;

    impl guest::Judge for Thief {
        const NAME: &'static CStr = c"thief";
        const DETECTORS: &'static [&'static str] = &["process"];
        const RECOVERIES: &'static [&'static str] = &[];

        fn look(&mut self, _: &str, _: &str, _: &Case) -> Option<Found> {
            None
        }

        fn recover(&mut self, _: &str, _: &str, _: &Case, _: &Found) -> Option<Steps> {
            None
        }
    }

    /// Panics at every second fact.
    #[derive(Default)]
    struct Weak(u32);

    impl guest::Judge for Weak {
        const NAME: &'static CStr = c"weak";
        const DETECTORS: &'static [&'static str] = &["weak"];
        const RECOVERIES: &'static [&'static str] = &[];

        fn look(&mut self, _: &str, _: &str, case: &Case) -> Option<Found> {
            self.0 += 1;
            let host = case.hosts.len() + usize::from(self.0.is_multiple_of(2));
            let why = case.hosts[host - 1].name.clone();
            Some(Found { why, hosts: Vec::new() })
        }

        fn recover(&mut self, _: &str, _: &str, _: &Case, _: &Found) -> Option<Steps> {
            None
        }
    }

    static WEAK: Table = table::<Weak>();
    static SECOND: Table = table::<Second>();
    static THIEF: Table = table::<Thief>();

    fn case() -> Case {
        let situation = Situation {
            now: Duration::from_secs(1),
            lost: vec![true, false],
            takes: vec![false, true],
            ranks: vec![1, 0],
        };
        let host = |name: &str| HostName { name: name.to_owned(), switch: None };
        Case {
            fact: Fact::Host { host: 0, silent: true },
            situation,
            hosts: vec![host("a"), host("b")],
        }
    }

    #[test]
    fn a_library_remembers_and_answers() {
        // SAFETY: the table is whole.
        let Ok(mut judge) = (unsafe { Judge::of(&raw const SECOND) }) else { panic!("a judge") };
        assert_eq!((judge.detectors(), judge.recoveries()), (&["second"][..], &["flee"][..]));
        let mut look = || judge.look("second", "s", &case());
        assert_eq!(look(), Ok(None));
        let found = Found { why: "loss 2 (s)".to_owned(), hosts: vec![0] };
        assert_eq!(look(), Ok(Some(found.clone())));
        let Ok(Some(steps)) = judge.recover("flee", "s", &case(), &found) else { panic!("steps") };
        assert_eq!((steps.recovery, steps.leave), (Recovery::Migrate, vec![0]));
    }

    #[test]
    fn a_panic_of_a_library_ends_its_answer_and_no_more() {
        // SAFETY: the table is whole.
        let Ok(mut judge) = (unsafe { Judge::of(&raw const WEAK) }) else { panic!("a judge") };
        let mut look = || judge.look("weak", "", &case());
        for _ in 0..2 {
            assert_eq!(look(), Ok(Some(Found { why: "b".to_owned(), hosts: vec![] })));
            assert!(look().is_err_and(|why| why.contains("panicked")));
        }
    }

    #[test]
    fn a_wrong_table_is_refused() {
        // SAFETY: each is null or whole.
        let refused = |table: *const Table| match unsafe { Judge::of(table) } {
            Ok(judge) => panic!("{judge:?} is taken"),
            Err(error) => error.to_string(),
        };
        assert!(refused(std::ptr::null()).contains("no table"));
        assert!(refused(&raw const THIEF).contains("`process`"));
        let older = Table { version: JUDGE_VERSION + 1, ..table::<Second>() };
        assert!(refused(&raw const older).contains("build it again"));
        let other = Table { magic: crate::table::MAGIC, ..table::<Second>() };
        assert!(refused(&raw const other).contains("no table"));
        let nameless = Table { name: std::ptr::null(), ..table::<Second>() };
        assert!(refused(&raw const nameless).contains("no name"));
    }
}
