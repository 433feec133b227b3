//! Admission seen from outside: a cluster in memory, spoken to as a client would, with webhooks on real sockets.

mod conversion;
mod limits;
mod plane;
mod policies;
mod webhook_server;
mod webhooks;
