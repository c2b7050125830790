//! ftmpi's side: loads a library, checks its table, and makes a [`Protocol`] of it.

use crate::messages::{Input, Output, Reply, Settings, Standing};
use crate::table::{Bytes, Host, MAGIC, Recovery, SYMBOL, Table, VERSION};
use ftmpi_protocols::protocol::*;
use ftmpi_protocols::registry;
use ftmpi_wire::control::ProtocolConfig;
use ftmpi_wire::{Determinant, EventNo, ImageNo, Incarnation, Rank, Ssn};
use std::alloc::Layout;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, c_void};
use std::path::Path;

/// Name of these protocols in the configuration; the setting of the same name is the file.
pub const PLUGIN: &str = "plugin";

/// Why a library gives no protocol.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The system cannot load it.
    #[error("cannot be loaded: {0}")]
    Load(libloading::Error),
    /// It lacks the symbol.
    #[error("has no function `{SYMBOL}`: it is no library with a protocol")]
    NoSymbol,
    /// The symbol leads to something else.
    #[error("its function `{SYMBOL}` gives no table of a protocol")]
    NoTable,
    /// It was built for another version.
    #[error(
        "is built for version {theirs} of the table of protocols, this ftmpi has {VERSION}: build it again"
    )]
    Version {
        /// The library's.
        theirs: u32,
    },
    /// A field has no meaning.
    #[error("its table makes no sense: {0}")]
    Senseless(&'static str),
    /// It does not want these settings.
    #[error("the protocol {0} refuses the settings")]
    Refused(String),
    /// There is no built-in protocol of that name, or it has no such setting.
    #[error("there is no protocol {0}")]
    Unknown(String),
    /// The library that the command line names.
    #[error("--protocol plugin:{file}: {source}")]
    File {
        /// As on the command line.
        file: String,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// Its first answer.
    #[error("the protocol {0} answers what nobody asked")]
    Confused(String),
}

/// A library that gives a protocol. It is never unloaded.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    table: &'static Table,
    /// Its name.
    pub name: &'static str,
    /// What happens after a failure.
    pub recovery: Recovery,
    /// Whether it wants an event logger.
    pub logger: bool,
}

impl Library {
    /// Loads a file.
    ///
    /// # Errors
    /// It is no library, or of another version.
    pub fn load(file: &Path) -> Result<Self, PluginError> {
        // SAFETY: the user who names the file trusts what runs when it is loaded.
        let library = unsafe { libloading::Library::new(file) }.map_err(PluginError::Load)?;
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        // SAFETY: a library that exports this name keeps to the contract in `table`.
        let find = unsafe { library.get::<extern "C" fn() -> *const Table>(SYMBOL.as_bytes()) };
        let table = find.map_err(|_| PluginError::NoSymbol)?();
        // SAFETY: a null pointer is seen. Any other pointer leads to a table or at least to its
        // first fields, which are the same in every version.
        unsafe { Self::check(table) }
    }

    /// Looks at a table.
    ///
    /// # Safety
    /// A pointer that is not null leads to the first 16 bytes of some version of a [`Table`]. If
    /// these bytes name this version, the pointer leads to a whole constant table.
    ///
    /// # Errors
    /// It is not of this version.
    pub unsafe fn check(table: *const Table) -> Result<Self, PluginError> {
        if table.is_null() || !table.is_aligned() {
            return Err(PluginError::NoTable);
        }
        // SAFETY: the first fields are there; see above.
        let (magic, version, size) = unsafe {
            let begin = table.cast::<u8>();
            let word = |at: usize| begin.add(at).cast::<u32>().read();
            (begin.cast::<[u8; 8]>().read(), word(8), word(12))
        };
        if magic != MAGIC {
            return Err(PluginError::NoTable);
        }
        if version != VERSION {
            return Err(PluginError::Version { theirs: version });
        }
        if size as usize != size_of::<Table>() {
            return Err(PluginError::Senseless("its size"));
        }
        // SAFETY: a whole table; see above.
        let table = unsafe { &*table };
        if table.name.is_null() {
            return Err(PluginError::Senseless("it has no name"));
        }
        // SAFETY: a text of C that is constant.
        let name = unsafe { CStr::from_ptr(table.name) };
        let name = name.to_str().map_err(|_| PluginError::Senseless("its name is not UTF-8"))?;
        let recovery = Recovery::of(table.recovery);
        let recovery = recovery.ok_or(PluginError::Senseless("its kind of recovery is unknown"))?;
        Ok(Self { table, name, recovery, logger: table.logger != 0 })
    }

    /// The protocol of one rank.
    ///
    /// # Errors
    /// It does not want these settings.
    pub fn make(&self, settings: &Settings) -> Result<Plugin, PluginError> {
        let refused = || PluginError::Refused(self.name.to_owned());
        let bytes = postcard::to_stdvec(settings).map_err(|_| refused())?;
        // SAFETY: the table's contract; the bytes are valid for this call, the host for ever.
        let state = unsafe { (self.table.make)(&raw const HOST, bytes.as_ptr(), bytes.len()) };
        if state.is_null() {
            return Err(refused());
        }
        let mut plugin = Plugin {
            table: self.table,
            name: self.name,
            state,
            hooks: Hooks::default(),
            inner: RefCell::default(),
        };
        match plugin.call(&Input::Hooks, |output| match output {
            Output::Hooks(hooks) => Some(hooks),
            _ => None,
        }) {
            Some(hooks) => plugin.hooks = hooks,
            None => return Err(PluginError::Confused(self.name.to_owned())),
        }
        Ok(plugin)
    }
}

/// Makes the protocol that the configuration names, also one of a library; see [`registry::make`].
///
/// # Errors
/// There is no such protocol, or it refuses the settings.
pub fn make(
    config: &ProtocolConfig,
    me: Rank,
    incarnations: &[Incarnation],
) -> Result<Box<dyn Protocol>, PluginError> {
    if config.name != PLUGIN {
        let made = registry::make(config, me, incarnations);
        return made.ok_or_else(|| PluginError::Unknown(config.name.clone()));
    }
    let file = config.setting(PLUGIN).unwrap_or_default();
    let settings = Settings { config: config.clone(), me, incarnations: incarnations.to_vec() };
    let made = Library::load(Path::new(file)).and_then(|library| library.make(&settings));
    match made {
        Ok(plugin) => Ok(Box::new(plugin)),
        Err(source) => Err(PluginError::File { file: file.to_owned(), source: Box::new(source) }),
    }
}

unsafe extern "C" fn take(bytes: usize, align: usize) -> *mut u8 {
    match Layout::from_size_align(bytes, align) {
        // SAFETY: a global allocator is never asked for nothing, by its own contract.
        Ok(layout) if bytes > 0 => unsafe { std::alloc::alloc(layout) },
        _ => std::ptr::null_mut(),
    }
}

unsafe extern "C" fn give(block: *mut u8, bytes: usize, align: usize) {
    if let Ok(layout) = Layout::from_size_align(bytes, align) {
        // SAFETY: it came from `take` with the same numbers, by the contract of global allocators.
        unsafe { std::alloc::dealloc(block, layout) }
    }
}

pub(crate) static HOST: Host =
    Host { version: VERSION, size: size_of::<Host>() as u32, take, give };

/// What the last reply said, and what it is asked with.
#[derive(Debug, Default)]
struct Inner {
    standing: Standing,
    commands: VecDeque<Command>,
    words: Vec<u8>,
    broken: bool,
}

/// A protocol in a library.
#[derive(Debug)]
pub struct Plugin {
    table: &'static Table,
    name: &'static str,
    state: *mut c_void,
    hooks: Hooks,
    inner: RefCell<Inner>,
}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: `make` gave it, and this is its end.
        unsafe { (self.table.unmake)(self.state) }
    }
}

impl Plugin {
    /// Tells, and takes of the answer what was expected. An answer of another kind, or one that
    /// cannot be understood, ends the job; `None` until then.
    fn call<T>(
        &self,
        input: &Input<'_>,
        expected: impl FnOnce(Output<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut inner = self.inner.borrow_mut();
        if inner.broken {
            return None;
        }
        inner.words.clear();
        let words = std::mem::take(&mut inner.words);
        inner.words = postcard::to_extend(input, words).unwrap_or_default();
        let mut reply = Bytes { at: std::ptr::null(), length: 0 };
        // SAFETY: the table's contract; the words and the place for the answer are valid for this
        // call.
        let code = unsafe {
            (self.table.call)(self.state, inner.words.as_ptr(), inner.words.len(), &raw mut reply)
        };
        let answer = match code {
            0 if !reply.at.is_null() => {
                // SAFETY: valid until the next call, by the table's contract.
                let bytes = unsafe { std::slice::from_raw_parts(reply.at, reply.length) };
                postcard::from_bytes::<Reply<'_>>(bytes).ok()
            }
            _ => None,
        };
        let output = answer.and_then(|reply| {
            inner.standing = reply.standing;
            inner.commands.extend(reply.commands);
            expected(reply.output)
        });
        if output.is_none() {
            inner.broken = true;
            let name = self.name;
            let kind = format!("{input:?}");
            let kind = kind.split('(').next().unwrap_or_default();
            inner.commands.clear();
            inner.commands.push_back(Command::GiveUp(format!(
                "the protocol {name} (--protocol plugin) answered {kind} with something else than what \
                 was asked"
            )));
        }
        output
    }

    fn notify(&self, input: &Input<'_>) {
        let _ = self.call(input, |output| (output == Output::Nothing).then_some(()));
    }

    fn ask(&self, input: &Input<'_>) -> bool {
        let answer = self.call(input, |output| match output {
            Output::Bool(answer) => Some(answer),
            _ => None,
        });
        answer.unwrap_or(false)
    }

    fn append(&self, input: &Input<'_>, out: &mut Vec<u8>) {
        let _ = self.call(input, |output| match output {
            Output::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                Some(())
            }
            _ => None,
        });
    }

    fn standing(&self) -> Standing {
        self.inner.borrow().standing
    }
}

impl Protocol for Plugin {
    fn hooks(&self) -> Hooks {
        self.hooks
    }
    fn logs_payload(&self, peer: Rank) -> bool {
        self.ask(&Input::LogsPayload(peer))
    }
    fn shares_waves(&self, peer: Rank) -> bool {
        self.ask(&Input::SharesWaves(peer))
    }
    fn on_new_incarnation(&mut self, last: EventNo, incarnations: &[Incarnation]) {
        self.inner.get_mut().commands.clear();
        self.notify(&Input::OnNewIncarnation(last, incarnations.to_vec()));
    }
    fn on_peer_restart(&mut self, peer: Rank, incarnation: Incarnation) {
        self.notify(&Input::OnPeerRestart(peer, incarnation));
    }
    fn resume(&mut self, peer: Rank, out: &mut Vec<u8>) {
        self.append(&Input::Resume(peer), out);
    }
    fn on_joined(&mut self, peer: Rank, said: &[u8]) {
        self.notify(&Input::OnJoined(peer, said));
    }
    fn on_parted(&mut self, peer: Rank) {
        self.notify(&Input::OnParted(peer));
    }
    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        self.notify(&Input::OnFrame(from, payload));
    }
    fn counts(&self) -> Counts {
        self.standing().counts
    }
    fn next_command(&mut self) -> Option<Command> {
        self.inner.get_mut().commands.pop_front()
    }
}

impl Logging for Plugin {
    fn on_send(&mut self, to: Rank, ssn: Ssn) -> SendVerdict {
        let verdict = self.call(&Input::OnSend(to, ssn), |output| match output {
            Output::Send(verdict) => Some(verdict),
            _ => None,
        });
        verdict.unwrap_or(SendVerdict::Go)
    }
    fn gate(&self) -> EventNo {
        self.standing().gate
    }
    fn last_event(&self) -> EventNo {
        self.standing().last_event
    }
    fn on_stable(&mut self, written: EventNo, durable: EventNo) {
        self.notify(&Input::OnStable(written, durable));
    }
    fn stable(&self) -> EventNo {
        self.standing().stable
    }
    fn flush(&mut self) {
        self.notify(&Input::Flush);
    }
    fn settle(&mut self) {
        self.notify(&Input::Settle);
    }
    fn commit(&mut self) {
        self.notify(&Input::Commit);
    }
    fn on_logger_back(&mut self) {
        // What was to go to the logger that is lost goes again.
        self.inner.get_mut().commands.retain(|command| !matches!(command, Command::Log { .. }));
        self.notify(&Input::OnLoggerBack);
    }
    fn on_stable_clocks(&mut self, clocks: &[(Rank, EventNo)]) {
        self.notify(&Input::OnStableClocks(clocks.to_vec()));
    }
    fn is_awaited(&self) -> bool {
        self.standing().is_awaited
    }
    fn gathering(&self) -> bool {
        self.standing().gathering
    }
    fn on_restart(&mut self, last: EventNo, recorded: Vec<Determinant>) {
        self.notify(&Input::OnRestart(last, recorded));
    }
    fn on_oldest_image(&mut self, events: EventNo) {
        self.notify(&Input::OnOldestImage(events));
    }
    fn determinants(&self) -> u64 {
        self.standing().determinants
    }
}

impl Determinants for Plugin {
    fn pin(&mut self, post: u64) -> Pin {
        let pin = self.call(&Input::Pin(post), |output| match output {
            Output::Pin(pin) => Some(pin),
            _ => None,
        });
        pin.unwrap_or(Pin::Free)
    }
    fn on_match(&mut self, post: u64, source: Rank, ssn: Ssn) {
        self.notify(&Input::OnMatch(post, source, ssn));
    }
    fn decide(&mut self) -> Decision {
        let decision = self.call(&Input::Decide, |output| match output {
            Output::Decision(decision) => Some(decision),
            _ => None,
        });
        decision.unwrap_or(Decision::Live)
    }
    fn on_negative(&mut self) {
        self.notify(&Input::OnNegative);
    }
    fn on_answer(&mut self, answer: Answer) {
        self.notify(&Input::OnAnswer(answer));
    }
    fn next_service(&self) -> Service {
        self.standing().next_service
    }
    fn service_repeated(&mut self) {
        self.notify(&Input::ServiceRepeated);
    }
    fn replaying(&self) -> bool {
        self.standing().replaying
    }
    fn repeating(&self) -> bool {
        self.standing().repeating
    }
    fn recorded(&self) -> u64 {
        self.standing().recorded
    }
}

impl Piggybacking for Plugin {
    fn has_piggyback(&self, to: Rank) -> bool {
        self.ask(&Input::HasPiggyback(to))
    }
    fn piggyback(&mut self, to: Rank, out: &mut Vec<u8>) {
        self.append(&Input::Piggyback(to), out);
    }
    fn on_piggyback(&mut self, from: Rank, piggyback: &[u8]) {
        self.notify(&Input::OnPiggyback(from, piggyback));
    }
    fn on_arrival(&mut self, from: Rank, ssn: Ssn) -> ArrivalVerdict {
        let verdict = self.call(&Input::OnArrival(from, ssn), |output| match output {
            Output::Arrival(verdict) => Some(verdict),
            _ => None,
        });
        verdict.unwrap_or(ArrivalVerdict::Accept)
    }
    fn refuses(&self, from: Rank) -> bool {
        self.ask(&Input::Refuses(from))
    }
}

impl Waves for Plugin {
    fn on_image_due(&mut self, image: ImageNo) {
        self.notify(&Input::OnImageDue(image));
    }
    fn image_ready(
        &self,
        image: ImageNo,
        peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        let ready = self.call(&Input::ImageReady(image, peers.collect()), |output| match output {
            Output::Readiness(ready) => Some(ready),
            _ => None,
        });
        ready.unwrap_or(Readiness::NotYet)
    }
    fn stands_still(&self) -> bool {
        self.standing().stands_still
    }
    fn on_image_over(&mut self, image: ImageNo) {
        self.notify(&Input::OnImageOver(image));
    }
    fn on_return(&mut self, image: ImageNo) {
        self.notify(&Input::OnReturn(image));
    }
    fn greeting(&self) -> Option<Marker> {
        let marker = self.call(&Input::Greeting, |output| match output {
            Output::Marker(marker) => Some(marker),
            _ => None,
        });
        marker.flatten()
    }
}
