//! The layers, held against the code.
