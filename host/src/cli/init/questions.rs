//! Plain questions at a terminal.

use std::io::{self, BufRead, Write};

/// Where questions are asked and answered.
pub struct Questions<'a> {
    pub input: &'a mut dyn BufRead,
    pub output: &'a mut dyn Write,
}

impl Questions<'_> {
    /// Asks until the answer can be used.
    ///
    /// # Errors
    /// The input ends.
    pub fn ask<T>(
        &mut self,
        question: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> io::Result<T> {
        loop {
            let answer = self.line(&format!("{question}: "))?;
            match parse(answer.trim()) {
                Ok(value) => return Ok(value),
                Err(error) => writeln!(self.output, "  {error}")?,
            }
        }
    }

    /// Whether the answer is yes; anything else is no.
    pub fn confirm(&mut self, question: &str) -> io::Result<bool> {
        let answer = self.line(&format!("{question} [y/N] "))?;
        Ok(["y", "yes"].iter().any(|it| answer.trim().eq_ignore_ascii_case(it)))
    }

    fn line(&mut self, question: &str) -> io::Result<String> {
        write!(self.output, "{question}")?;
        self.output.flush()?;
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }
}
