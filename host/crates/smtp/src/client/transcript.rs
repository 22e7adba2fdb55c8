//! What was said in a session, for people to read: without secrets, and within 8 KiB.

use std::collections::VecDeque;

/// Octets of the first lines, which are kept whatever follows.
const HEAD: usize = 4 << 10;
/// Octets of the last lines.
const TAIL: usize = (4 << 10) - 64;
/// Octets of one line, its mark included, at most.
const MAX_LINE: usize = 1 << 10;
const MORE: &str = "…";

/// The lines of a session; those in the middle go where there are too many.
#[derive(Debug, Default)]
pub struct Transcript {
    head: String,
    tail: VecDeque<String>,
    tail_octets: usize,
    left_out: usize,
    /// What must not be shown even where the server says it.
    secrets: Vec<String>,
}

impl Transcript {
    /// A line of ours.
    pub fn client(&mut self, line: &str) {
        self.push("C: ", line);
    }

    /// A line of the server, already printable.
    pub fn server(&mut self, line: &str) {
        let mut line = line.to_owned();
        for secret in &self.secrets {
            line = line.replace(secret, "***");
        }
        self.push("S: ", &line);
    }

    /// What happened to the connection.
    pub fn remark(&mut self, line: &str) {
        self.push("*: ", line);
    }

    /// From now on the server's lines are shown without these.
    pub fn hide(&mut self, secrets: Vec<String>) {
        self.secrets = secrets;
    }

    /// The transcript since the last call.
    pub fn take(&mut self) -> String {
        let mut text = std::mem::take(&mut self.head);
        if self.left_out > 0 {
            let left_out = self.left_out.to_string();
            text.extend(["*: ", &left_out, " lines are left out\n"]);
        }
        text.extend(self.tail.drain(..));
        (self.tail_octets, self.left_out) = (0, 0);
        text
    }

    fn push(&mut self, mark: &str, line: &str) {
        let mut line = format!("{mark}{line}");
        if line.len() >= MAX_LINE {
            let mut end = MAX_LINE - MORE.len() - 1;
            while !line.is_char_boundary(end) {
                end -= 1;
            }
            line.truncate(end);
            line.push_str(MORE);
        }
        line.push('\n');
        if self.tail.is_empty() && self.left_out == 0 && self.head.len() + line.len() <= HEAD {
            self.head.push_str(&line);
            return;
        }
        self.tail_octets += line.len();
        self.tail.push_back(line);
        while self.tail_octets > TAIL {
            let Some(oldest) = self.tail.pop_front() else { break };
            self.tail_octets -= oldest.len();
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_session_is_kept_whole_and_taken_once() {
        let mut transcript = Transcript::default();
        transcript.server("220 hello");
        transcript.client("QUIT");
        transcript.remark("gone");
        assert_eq!(transcript.take(), "S: 220 hello\nC: QUIT\n*: gone\n");
        assert_eq!(transcript.take(), "");
    }

    #[test]
    fn the_middle_of_a_long_session_is_left_out() {
        let mut transcript = Transcript::default();
        for number in 0..10_000 {
            transcript.server(&format!("250-{number}"));
        }
        let text = transcript.take();
        assert!(text.len() <= 8 << 10, "{}", text.len());
        assert!(text.starts_with("S: 250-0\nS: 250-1\n"));
        assert!(text.contains(" lines are left out\nS: 250-"));
        assert!(text.ends_with("S: 250-9998\nS: 250-9999\n"));
        transcript.client("NOOP");
        assert_eq!(transcript.take(), "C: NOOP\n");
    }

    #[test]
    fn what_the_server_repeats_of_a_secret_is_not_shown() {
        let mut transcript = Transcript::default();
        transcript.hide(vec!["hunter2!".to_owned()]);
        transcript.server("535 `hunter2!` is wrong");
        assert_eq!(transcript.take(), "S: 535 `***` is wrong\n");
    }

    proptest! {
        #[test]
        fn no_session_takes_more_than_its_bound(
            lines in prop::collection::vec(("\\PC{0,30}", 1_usize..200), 0..60),
        ) {
            let mut transcript = Transcript::default();
            for (line, times) in &lines {
                transcript.server(&line.repeat(*times));
            }
            prop_assert!(transcript.take().len() <= 8 << 10);
        }
    }
}
