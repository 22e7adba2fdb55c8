//! Data against the variables that a template requires: every fault at once, before rendering.

use crate::template::Diagnostic;
use crate::value::{Object, Value};
use crate::variables::{Step, Use, append};

/// No more faults than this are listed.
const MAX_FAULTS: usize = 100;

/// Every required path that is absent or of the wrong type.
pub fn check(uses: &[Use], data: &Object<'_>) -> Vec<Diagnostic> {
    let mut check = Check { faults: Vec::new() };
    for it in uses.iter().filter(|it| it.required) {
        if let Some((Step::Key(root), rest)) = it.steps.split_first() {
            check.follow(it, data.get(root), rest, root.clone());
        }
    }
    check.faults
}

struct Check {
    faults: Vec<Diagnostic>,
}

impl Check {
    fn follow(&mut self, it: &Use, value: Option<&Value<'_>>, steps: &[Step], path: String) {
        let value = value.unwrap_or(&Value::Nil);
        let Some((step, rest)) = steps.split_first() else {
            return self.end(it, value, path);
        };
        if matches!(value, Value::Nil) {
            // The elements of an absent list are reported with the list.
            if !steps.contains(&Step::Each) {
                steps_missing(self, path, steps);
            }
            return;
        }
        match step {
            Step::Each => self.each(it, value, rest, &path),
            Step::Key(key) => match value.property(key) {
                Some(next) => self.follow(it, Some(&next), rest, with(path, step)),
                // The first of an empty list is absent, as a key of an object may be.
                None if matches!(value, Value::Object(_))
                    || (matches!(value, Value::Array(_)) && matches!(&**key, "first" | "last")) =>
                {
                    self.follow(it, None, rest, with(path, step));
                }
                None => {
                    let message = format!("`{path}` is {}, but its `{key}` is read", kind(value));
                    self.fault("wrong_type", path, message);
                }
            },
            Step::Index(index) => {
                let next = value.element(*index);
                self.follow(it, next.as_ref(), rest, with(path, step));
            }
        }
    }

    fn each(&mut self, it: &Use, value: &Value<'_>, rest: &[Step], path: &str) {
        // A loop over an object sees pairs, which are never absent.
        let Value::Array(items) = value else { return };
        for (i, item) in items.iter().enumerate() {
            if self.faults.len() >= MAX_FAULTS {
                return;
            }
            self.follow(it, Some(item), rest, format!("{path}[{i}]"));
        }
    }

    fn end(&mut self, it: &Use, value: &Value<'_>, path: String) {
        let scalar = matches!(
            value,
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Safe(_)
        );
        if matches!(value, Value::Nil) {
            self.missing(path);
        } else if it.looped && scalar {
            let message = format!("`{path}` is {}, but a loop goes over it", kind(value));
            self.fault("wrong_type", path, message);
        } else if it.printed && !scalar {
            let message = format!("`{path}` is {}, but it is printed", kind(value));
            self.fault("wrong_type", path, message);
        }
    }

    fn missing(&mut self, path: String) {
        let message = format!("`{path}` is missing");
        self.fault("missing_variable", path, message);
    }

    fn fault(&mut self, code: &str, path: String, message: String) {
        let known = |it: &Diagnostic| it.code == code && it.path.as_deref() == Some(&path);
        if self.faults.len() < MAX_FAULTS && !self.faults.iter().any(known) {
            self.faults.push(Diagnostic::at(path, code, message));
        }
    }
}

fn steps_missing(check: &mut Check, path: String, steps: &[Step]) {
    check.missing(steps.iter().fold(path, with));
}

fn with(mut path: String, step: &Step) -> String {
    append(&mut path, step);
    path
}

/// As a person calls it.
pub const fn kind(it: &Value<'_>) -> &'static str {
    match it {
        Value::Nil | Value::Blank | Value::Empty => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Float(_) => "a number",
        Value::Str(_) | Value::Safe(_) => "a string",
        Value::Array(_) | Value::Range(..) => "an array",
        Value::Object(_) | Value::Loop(_) => "an object",
    }
}
