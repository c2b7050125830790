//! Making and freeing windows, and their properties (MPI-4.1, 12.2).

use super::properties::NAME_MAX;
use super::{Collective, CommId, Errhandler, ErrhandlerId, Mpi};
use crate::attribute::{Attributes, Keyvals};
use crate::bail;
use crate::engine::{Link, is_of_faults};
use crate::error::Result;
use crate::group::GroupId;
use crate::ids::WinId;
use crate::info::{Info, InfoId};
use crate::text::within;
use crate::usermem::{ProgramMemory, UserPtr};
use crate::window::locks::Locks;
use crate::window::{Flavor, Part, TargetState, Values, Window};
use std::collections::{BTreeMap, VecDeque};

/// Memory that a new window has.
struct Memory {
    base: UserPtr,
    own: Option<ProgramMemory>,
    segment: Option<(UserPtr, usize)>,
    parts: Vec<Part>,
}

impl<L: Link> Mpi<L> {
    pub(super) fn window(&self, id: WinId) -> Result<&Window> {
        self.engine.windows.get(id)
    }

    pub(super) fn window_mut(&mut self, id: WinId) -> Result<&mut Window> {
        self.engine.windows.get_mut(id)
    }

    /// The contributions of all members, one behind the other; `align`: alignment of this rank's
    /// one in bytes.
    fn window_parts(
        &mut self,
        comm: CommId,
        size: i64,
        unit: i64,
        align: usize,
    ) -> Result<Vec<Part>> {
        if size < 0 {
            bail!(Size, "size is {size}, must not be negative");
        }
        if unit <= 0 {
            bail!(Disp, "disp_unit is {unit}, must be positive");
        }
        let scope = self.scope(comm)?;
        let mut mine = [0; 24];
        mine[..8].copy_from_slice(&size.to_le_bytes());
        mine[8..16].copy_from_slice(&unit.to_le_bytes());
        mine[16..].copy_from_slice(&align.to_le_bytes());
        let all = self.collect_within(&scope, &mine)?;
        let mut begin = 0u64;
        let mut parts = Vec::with_capacity(all.len() / mine.len());
        for part in all.as_chunks::<24>().0 {
            let word = |at: usize| i64::from_le_bytes(std::array::from_fn(|i| part[at + i]));
            begin = begin.checked_next_multiple_of(word(16) as u64).unwrap_or(u64::MAX);
            parts.push(Part { size: word(0) as u64, unit: word(8), begin });
            begin = begin.saturating_add(word(0) as u64);
        }
        Ok(parts)
    }

    /// Whether wrong arguments can be reported before anything is sent.
    fn new_window_comm(&mut self, comm: CommId) -> Result<CommId> {
        if self.comm(comm)?.members.remote.is_some() {
            bail!(Comm, "a window cannot be made on an intercommunicator");
        }
        self.duplicate(comm)
    }

    fn establish_window(
        &mut self,
        comm: CommId,
        flavor: Flavor,
        memory: Memory,
        info: Option<InfoId>,
    ) -> Result<WinId> {
        let members = self.members(comm)?;
        self.engine.set_private(members.context);
        let info = match info {
            Some(info) => self.infos.get(info)?.clone(),
            None => Info::default(),
        };
        let lockable = info.get(b"no_locks")?.is_none_or(|value| value != b"true");
        let part = memory.parts.get(members.me as usize).copied().unwrap_or_default();
        let targets = (0..members.local.len()).map(|_| TargetState::default()).collect();
        let number = match flavor {
            Flavor::Create => 1,
            Flavor::Allocate => 2,
            Flavor::Dynamic => 3,
            Flavor::Shared => 4,
        };
        const UNIFIED: i32 = 2;
        let window = Window {
            comm,
            members,
            parts: memory.parts,
            flavor,
            base: memory.base,
            memory: memory.own,
            segment: memory.segment,
            attached: BTreeMap::new(),
            attached_empty: Vec::new(),
            lockable,
            counter: false,
            fenced: false,
            access: None,
            locked_all: false,
            targets,
            exposure: None,
            locks: Locks::default(),
            faults: BTreeMap::new(),
            inbox: VecDeque::new(),
            errhandler: ErrhandlerId::DEFAULT,
            name: Vec::new(),
            info,
            attributes: Attributes::new(),
            values: Box::new((part.size as i64, part.unit as i32, number, UNIFIED)),
        };
        let id = self.engine.windows.insert(window)?;
        if lockable {
            self.engine.open_to_others(true);
        }
        // No rank's request comes before all ranks have the window.
        self.collective(comm, Collective::Barrier)?;
        Ok(id)
    }

    /// `MPI_Win_create`
    pub fn win_create(
        &mut self,
        base: UserPtr,
        size: i64,
        unit: i64,
        info: Option<InfoId>,
        comm: CommId,
    ) -> Result<WinId> {
        if base.is_null() && size > 0 {
            bail!(Arg, "base is a null pointer, but the window has {size} bytes");
        }
        let comm = self.new_window_comm(comm)?;
        let parts = self.window_parts(comm, size, unit, 1)?;
        let memory = Memory { base, own: None, segment: None, parts };
        self.establish_window(comm, Flavor::Create, memory, info)
    }

    /// `MPI_Win_allocate`; also returns where the memory is.
    pub fn win_allocate(
        &mut self,
        size: i64,
        unit: i64,
        info: Option<InfoId>,
        comm: CommId,
    ) -> Result<(WinId, UserPtr)> {
        let align = self.alignment_hint(info)?;
        let comm = self.new_window_comm(comm)?;
        let parts = self.window_parts(comm, size, unit, 1)?;
        let (own, base) = self.window_memory(comm, size as usize, align)?;
        let memory = Memory { base, own: Some(own), segment: None, parts };
        Ok((self.establish_window(comm, Flavor::Allocate, memory, info)?, base))
    }

    /// The alignment in bytes that the program wants for the memory of a window. A wrong info is
    /// reported before there is any memory.
    fn alignment_hint(&self, info: Option<InfoId>) -> Result<usize> {
        info.map_or(Ok(1), |info| Ok(self.infos.get(info)?.alignment()))
    }

    /// Memory of the library for this rank's part, and where the part begins in it. All members
    /// have theirs, or none has and the communicator is gone.
    fn window_memory(
        &mut self,
        comm: CommId,
        size: usize,
        align: usize,
    ) -> Result<(ProgramMemory, UserPtr)> {
        let slack = align.saturating_sub(ProgramMemory::ALIGN);
        let mut own = size.checked_add(slack).and_then(ProgramMemory::new);
        let scope = self.scope(comm)?;
        let answers = self.collect_within(&scope, &[u8::from(own.is_some())])?;
        let missing = answers.iter().position(|&ok| ok == 0);
        if let (Some(own), None) = (own.take(), missing) {
            // SAFETY: the window keeps it as long as it uses the address.
            let begin = unsafe { own.ptr() };
            let gap = begin.address().next_multiple_of(align) - begin.address();
            return Ok((own, begin.offset(gap as i64)));
        }
        self.comm_free(comm)?;
        let rank = missing.unwrap_or_default();
        bail!(
            NoMem,
            "process {rank} of the communicator has no memory for its part of the window (that of this \
             one has {size} bytes)"
        )
    }

    /// `MPI_Win_allocate_shared`; also returns where this rank's part is.
    pub fn win_allocate_shared(
        &mut self,
        size: i64,
        unit: i64,
        info: Option<InfoId>,
        comm: CommId,
    ) -> Result<(WinId, UserPtr)> {
        let members = self.members(comm)?;
        let align = self.alignment_hint(info)?;
        if members.local.len() == 1 && members.remote.is_none() {
            let comm = self.new_window_comm(comm)?;
            let parts = self.window_parts(comm, size, unit, 1)?;
            let (own, base) = self.window_memory(comm, size as usize, align)?;
            let segment = Some((base, size as usize));
            let memory = Memory { base, own: Some(own), segment, parts };
            return Ok((self.establish_window(comm, Flavor::Shared, memory, info)?, base));
        }
        let hosts = &self.hosts;
        let host = |rank: ftmpi_wire::Rank| hosts.get(rank.index());
        if members.local.iter().any(|rank| host(rank) != host(self.engine.me())) {
            bail!(
                RmaShared,
                "the communicator has processes of several hosts: split it with \
                 MPI_COMM_TYPE_SHARED first"
            );
        }
        if self.engine.logs() {
            bail!(
                RmaShared,
                "loads and stores in memory that processes share cannot be repeated after a failure: \
                 use --protocol none or coordinated, or MPI_Win_allocate"
            );
        }
        // A boundary is one of the segment, which begins on a page.
        let apart = match info {
            Some(info) => self.infos.get(info)?.get(b"alloc_shared_noncontig")? == Some(b"true"),
            None => false,
        };
        let comm = self.new_window_comm(comm)?;
        let parts = self.window_parts(comm, size, unit, if apart { align } else { 1 })?;
        let (at, len) = self.share_segment(comm, &parts)?;
        let mine = parts.get(members.me as usize).copied().unwrap_or_default();
        let base = at.offset(mine.begin as i64);
        let memory = Memory { base, own: None, segment: Some((at, len)), parts };
        Ok((self.establish_window(comm, Flavor::Shared, memory, info)?, base))
    }

    /// A segment for all members, under a name that the first one gives it.
    fn share_segment(&mut self, comm: CommId, parts: &[Part]) -> Result<(UserPtr, usize)> {
        let members = self.members(comm)?;
        let among: Vec<_> = members.local.iter().collect();
        let host = self.hosts[self.engine.me().index()];
        let ranks = (0u32..).zip(&self.hosts).filter(|(_, other)| **other == host);
        let ranks: Vec<_> = ranks.map(|(rank, _)| ftmpi_wire::Rank(rank)).collect();
        self.engine.join_shared_memory(&ranks);
        let bytes = parts.last().map_or(0, |last| last.begin.saturating_add(last.size));
        let len = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
        let mine = parts.get(members.me as usize).copied().unwrap_or_default();
        let mine = mine.begin as usize..mine.begin.saturating_add(mine.size) as usize;
        let mut serial = [0; 4];
        if members.me == 0 {
            serial = self.segments_named.to_le_bytes();
            self.segments_named += 1;
        }
        let scope = self.scope(comm)?;
        self.broadcast(&scope, 0, &mut serial)?;
        let (creator, serial) = (among[0], u32::from_le_bytes(serial));
        let piece = crate::engine::Piece { creator, serial, len, mine, among };
        let at = self.engine.link.share(piece);
        // No rank goes on until all ranks have it.
        let scope = self.scope(comm)?;
        let answers = self.collect_within(&scope, &[u8::from(at.is_some())])?;
        match at {
            Some(at) if answers.iter().all(|&ok| ok == 1) => Ok((at, len)),
            other => {
                if let Some(at) = other {
                    self.engine.link.part_shared(at);
                }
                self.engine.update_call_end_reports();
                bail!(
                    NoMem,
                    "{len} bytes of memory that all these processes share are not available (a failure \
                     may have moved them to different hosts)"
                )
            }
        }
    }

    /// `MPI_Win_create_dynamic`
    pub fn win_create_dynamic(&mut self, info: Option<InfoId>, comm: CommId) -> Result<WinId> {
        let comm = self.new_window_comm(comm)?;
        let parts = self.window_parts(comm, 0, 1, 1)?;
        let memory = Memory { base: UserPtr::BOTTOM, own: None, segment: None, parts };
        self.establish_window(comm, Flavor::Dynamic, memory, info)
    }

    /// `MPI_Win_attach`
    pub fn win_attach(&mut self, id: WinId, base: UserPtr, size: i64) -> Result<()> {
        let window = self.window_mut(id)?;
        if window.flavor != Flavor::Dynamic {
            bail!(RmaFlavor, "memory can be attached to a window of MPI_Win_create_dynamic only");
        }
        if size < 0 {
            bail!(Size, "size is {size}, must not be negative");
        }
        if size == 0 {
            window.attached_empty.push(base.address());
            return Ok(());
        }
        let (begin, end) = (base.address(), base.address().saturating_add(size as usize));
        let before = window.attached.range(..end).next_back();
        if before.is_some_and(|(&start, &len)| start + len > begin) {
            bail!(RmaAttach, "memory from {begin:#x} to {end:#x} overlaps attached memory");
        }
        window.attached.insert(begin, size as usize);
        Ok(())
    }

    /// `MPI_Win_detach`
    pub fn win_detach(&mut self, id: WinId, base: UserPtr) -> Result<()> {
        let window = self.window_mut(id)?;
        if window.flavor != Flavor::Dynamic {
            bail!(RmaFlavor, "memory can be detached from a window of MPI_Win_create_dynamic only");
        }
        let at = base.address();
        if window.attached.remove(&at).is_some() {
            return Ok(());
        }
        match window.attached_empty.iter().position(|&empty| empty == at) {
            Some(empty) => window.attached_empty.swap_remove(empty),
            None => bail!(RmaAttach, "no memory that begins at {at:#x} is attached"),
        };
        Ok(())
    }

    /// `MPI_Win_shared_query`; `rank` is `None` for `MPI_PROC_NULL`: the first process with memory.
    pub fn win_shared_query(&self, id: WinId, rank: Option<u32>) -> Result<(Part, UserPtr)> {
        let window = self.window(id)?;
        let Some((segment, _)) = window.segment else {
            return self.own_part(id, rank);
        };
        let part = match rank {
            Some(rank) => window.parts.get(rank as usize).copied(),
            None => Some(window.parts.iter().find(|p| p.size > 0).copied().unwrap_or_default()),
        };
        match part {
            Some(part) if part.size == 0 => Ok((part, UserPtr::BOTTOM)),
            Some(part) => Ok((part, segment.offset(part.begin as i64))),
            None => bail!(
                Rank,
                "rank {} is not in a window of size {}",
                rank.unwrap_or_default() as i32,
                window.parts.len()
            ),
        }
    }

    /// In a window of separate memories each process loads and stores in its own part only; the
    /// others' parts are empty for it (MPI-4.1, 12.2.3).
    fn own_part(&self, id: WinId, rank: Option<u32>) -> Result<(Part, UserPtr)> {
        let window = self.window(id)?;
        let me = window.members.me;
        match rank {
            _ if window.flavor == Flavor::Dynamic => {
                bail!(RmaFlavor, "the window is of MPI_Win_create_dynamic")
            }
            Some(rank) if rank >= window.members.local.len() => bail!(
                Rank,
                "rank {} is not in a window of size {}",
                rank as i32,
                window.members.local.len()
            ),
            Some(rank) if rank != me => Ok((Part::default(), UserPtr::BOTTOM)),
            // (Of `MPI_PROC_NULL`: the first process with memory.)
            None if window.parts.iter().position(|p| p.size > 0) != Some(me as usize) => {
                Ok((Part::default(), UserPtr::BOTTOM))
            }
            _ => Ok((window.parts.get(me as usize).copied().unwrap_or_default(), window.base)),
        }
    }

    /// `MPI_Win_free`, after the front has dealt with the attributes.
    pub fn win_free(&mut self, id: WinId) -> Result<()> {
        let window = self.window(id)?;
        if window.access.is_some() || window.exposure.is_some() {
            bail!(RmaSync, "the window is freed within an epoch of start or post");
        }
        if window.locked_all || window.targets.iter().any(|t| t.lock.is_some()) {
            bail!(RmaSync, "the window is freed while a lock of this process is held");
        }
        let comm = window.comm;
        // All ranks have finished with it.
        match self.collective(comm, Collective::Barrier) {
            // Nobody else can wait for all: what others still do here is dropped.
            Err(error) if is_of_faults(error.class) => {}
            answer => answer?,
        }
        self.engine.window_ends();
        if let Some(mut window) = self.engine.windows.remove(id) {
            for call in window.attributes.deletions(&self.keyvals) {
                window.attributes.remove(&mut self.keyvals, call.keyval);
            }
            self.release_errhandler(window.errhandler);
            if window.lockable {
                self.engine.open_to_others(false);
            }
            if let (Some((at, _)), None) = (window.segment, &window.memory) {
                self.engine.link.part_shared(at);
                self.engine.update_call_end_reports();
            }
        }
        self.comm_free(comm)
    }

    /// `MPI_Win_get_group`
    pub fn win_get_group(&mut self, id: WinId) -> Result<GroupId> {
        let comm = self.window(id)?.comm;
        self.comm_group(comm)
    }

    /// `MPI_Win_set_name`; longer names are cut.
    pub fn win_set_name(&mut self, id: WinId, name: &[u8]) -> Result<()> {
        self.window_mut(id)?.name = within(name, NAME_MAX).to_vec();
        Ok(())
    }

    /// `MPI_Win_get_name`
    pub fn win_get_name(&self, id: WinId) -> Result<&[u8]> {
        Ok(&self.window(id)?.name)
    }

    /// `MPI_Win_set_info`: hints are added to those that were set before; `no_locks` counts only
    /// when the window is made.
    pub fn win_set_info(&mut self, id: WinId, info: InfoId) -> Result<()> {
        let wanted = self.infos.get(info)?.clone();
        let hints = &mut self.window_mut(id)?.info;
        for (key, value) in wanted.iter() {
            hints.set(key, value)?;
        }
        Ok(())
    }

    /// `MPI_Win_get_info`: a new object, which the program frees.
    pub fn win_get_info(&mut self, id: WinId) -> Result<InfoId> {
        let window = self.window(id)?;
        let mut info = window.info.clone();
        let no_locks: &[u8] = if window.lockable { b"false" } else { b"true" };
        // The attributes that hold, independent of later requests.
        info.set(b"no_locks", no_locks)?;
        for (key, value) in [
            (&b"accumulate_ordering"[..], &b"rar,raw,war,waw"[..]),
            (b"accumulate_ops", b"same_op_no_op"),
            (b"same_size", b"false"),
            (b"same_disp_unit", b"false"),
        ] {
            if info.get(key)?.is_none() {
                info.set(key, value)?;
            }
        }
        self.infos.insert(info)
    }

    /// `MPI_Win_set_errhandler`
    pub fn win_set_errhandler(&mut self, id: WinId, handler: ErrhandlerId) -> Result<()> {
        self.window(id)?;
        self.retain_errhandler(handler)?;
        let old = std::mem::replace(&mut self.window_mut(id)?.errhandler, handler);
        self.release_errhandler(old);
        Ok(())
    }

    /// `MPI_Win_get_errhandler`; the program frees what it gets.
    pub fn win_get_errhandler(&mut self, id: WinId) -> Result<ErrhandlerId> {
        let handler = self.window(id)?.errhandler.or_fatal();
        self.retain_errhandler(handler)?;
        Ok(handler)
    }

    /// The error handler of this window.
    #[must_use]
    pub fn win_errhandler_of(&self, id: WinId) -> Errhandler {
        match self.window(id) {
            Ok(window) => self.errhandler(window.errhandler),
            Err(_) => self.errhandler_of(self.of_no_object()),
        }
    }

    /// The attributes of a window and the keys, to be changed.
    pub fn win_attributes_mut(&mut self, id: WinId) -> Result<(&mut Attributes, &mut Keyvals)> {
        Ok((&mut self.engine.windows.get_mut(id)?.attributes, &mut self.keyvals))
    }

    /// Base, and the values whose addresses are predefined attributes.
    pub fn win_values(&self, id: WinId) -> Result<(UserPtr, &Values)> {
        let window = self.window(id)?;
        Ok((window.base, &window.values))
    }

    /// Whether there is such a window.
    #[must_use]
    pub fn has_window(&self, id: WinId) -> bool {
        self.window(id).is_ok()
    }
}
