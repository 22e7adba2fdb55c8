//! The form of calls and answers, as plugin projects write it in their cases.

mod answers;
mod inputs;
