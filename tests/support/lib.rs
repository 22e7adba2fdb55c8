//! A server under test: a real process on free ports and a data directory of its own.
