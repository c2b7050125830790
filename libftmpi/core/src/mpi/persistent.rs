//! Starting persistent requests (MPI-4.1, 3.9).

use super::point::mode;
use super::{CommId, Mpi, Request, Status};
use crate::bail;
use crate::engine::Link;
use crate::error::Result;
use crate::request::{Active, Template};
use std::rc::Rc;

impl<L: Link> Mpi<L> {
    /// `MPI_Start`
    pub fn start(&mut self, request: Request) -> Result<()> {
        let slot = request.index().and_then(|index| self.requests.get(index));
        let Some(slot) = slot else {
            bail!(Request, "{:#010x} is no request that can be started", request.0);
        };
        let Some(template) = slot.template.clone() else {
            bail!(Request, "the request is not persistent: it cannot be started");
        };
        if slot.active.is_some() {
            bail!(Request, "the request is started already: complete it before starting it again");
        }
        let comm = slot.comm;
        self.blamed = comm;
        if !self.staged.is_empty() {
            self.staged_begins(request);
        }
        let active = self.begin(&template, comm)?;
        let receives = matches!(active, Active::PartitionedRecv(_));
        if let Some(index) = request.index()
            && let Some(slot) = self.requests.get_mut(index)
        {
            slot.active = Some(active);
            if receives {
                self.expect_partitions(index);
            }
        }
        Ok(())
    }

    /// `MPI_Startall`
    pub fn startall(&mut self, requests: &[Request]) -> Result<()> {
        requests.iter().try_for_each(|&request| self.start(request))
    }

    fn begin(&mut self, template: &Template, comm: CommId) -> Result<Active> {
        Ok(match template {
            Template::Send { to: None, .. } => Active::Known(Status::EMPTY),
            Template::Send { kind, data, to: Some((to, context)), tag } => {
                if *kind == super::SendKind::Buffered {
                    self.send_buffered(&data.to_send(), *to, *context, *tag, comm)?;
                    return Ok(Active::Known(Status::EMPTY));
                }
                match self.engine.isend(data.to_send(), *to, *context, *tag, mode(*kind)) {
                    None => Active::Sent,
                    Some(request) => Active::Send(request),
                }
            }
            Template::Recv { from: None, .. } => Active::Known(Status::PROC_NULL),
            Template::Recv { into, from: Some((source, context)), tag, members } => {
                let request = self.engine.irecv(into.to_receive(), *source, *context, *tag);
                Active::Recv(request, Rc::clone(members))
            }
            Template::PartitionedSend(parts) => {
                Active::PartitionedSend(Box::new(self.begin_partitioned_send(parts)))
            }
            Template::PartitionedRecv(parts) => {
                Active::PartitionedRecv(Box::new(self.begin_partitioned_recv(parts)))
            }
            Template::Collective(call, tag, members) => {
                let schedule = Box::new(self.schedule(call, members, *tag));
                Active::Schedule(self.engine.start_schedule(schedule)?, Rc::clone(members))
            }
        })
    }
}
