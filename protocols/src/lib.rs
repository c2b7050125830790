//! Every state machine of ftmpi, without sockets, clocks, threads or randomness.
