//! Tests of the whole server.
