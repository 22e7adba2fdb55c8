//! Data against the variables that a template requires: every fault at once, before rendering.

use crate::template::Diagnostic;
use crate::value::{Object, Value, kind};
use crate::variables::{Step, Use, append};

/// No more faults than this are listed.
const MAX_FAULTS: usize = 100;

/// Every required path that is absent or of the wrong type.
pub fn check(uses: &[Use], data: &Object<'_>) -> Vec<Diagnostic> {
    let mut check = Check { faults: Vec::new() };
    for it in uses.iter().filter(|it| it.required) {
        if let Some((Step::Key(root), rest)) = it.steps.split_first() {
            check.follow(it, data.get(root), rest, &Trail::Root(root));
        }
    }
    check.faults
}

struct Check {
    faults: Vec<Diagnostic>,
}

/// The path to a value, borrowed step by step: its text is made for a fault only.
enum Trail<'t> {
    Root(&'t str),
    Step(&'t Self, &'t Step),
    Item(&'t Self, usize),
}

impl Trail<'_> {
    /// As people write it.
    fn path(&self) -> String {
        match self {
            Self::Root(root) => (*root).to_owned(),
            Self::Step(before, step) => with(before.path(), step),
            Self::Item(before, index) => format!("{}[{index}]", before.path()),
        }
    }
}

impl Check {
    fn follow(&mut self, it: &Use, value: Option<&Value<'_>>, steps: &[Step], trail: &Trail<'_>) {
        let value = value.unwrap_or(&Value::Nil);
        let Some((step, rest)) = steps.split_first() else {
            return self.end(it, value, trail);
        };
        if matches!(value, Value::Nil) {
            // The elements of an absent list are reported with the list.
            if !steps.contains(&Step::Each) {
                self.missing(steps.iter().fold(trail.path(), with));
            }
            return;
        }
        let next_trail = Trail::Step(trail, step);
        if let (Step::Key(key) | Step::Item(key), Value::Object(object)) = (step, value)
            && let Some(next) = object.get(key)
        {
            return self.follow(it, Some(next), rest, &next_trail);
        }
        match step {
            Step::Each => self.each(it, value, rest, trail),
            Step::Key(key) => match value.property(key) {
                Some(next) => self.follow(it, Some(&next), rest, &next_trail),
                // The first of an empty list is absent, as a key of an object may be.
                None if matches!(value, Value::Object(_))
                    || (matches!(value, Value::Array(_)) && matches!(&**key, "first" | "last")) =>
                {
                    self.follow(it, None, rest, &next_trail);
                }
                None => {
                    let path = trail.path();
                    let message = format!("`{path}` is {}, but its `{key}` is read", kind(value));
                    self.fault("wrong_type", path, message);
                }
            },
            Step::Item(key) => match value.item(key) {
                None if !matches!(value, Value::Object(_)) => {
                    let path = trail.path();
                    let message = format!(
                        "`{path}` is {}, but the template reads its `[\"{key}\"]`, which only an object \
                         has; write `.{key}` there",
                        kind(value)
                    );
                    self.fault("wrong_type", path, message);
                }
                next => self.follow(it, next.as_ref(), rest, &next_trail),
            },
            Step::Index(index) => {
                let next = value.element(*index);
                self.follow(it, next.as_ref(), rest, &next_trail);
            }
        }
    }

    fn each(&mut self, it: &Use, value: &Value<'_>, rest: &[Step], trail: &Trail<'_>) {
        // A loop over an object sees pairs, which are never absent.
        let Value::Array(items) = value else { return };
        for (i, item) in items.iter().enumerate() {
            if self.faults.len() >= MAX_FAULTS {
                return;
            }
            self.follow(it, Some(item), rest, &Trail::Item(trail, i));
        }
    }

    fn end(&mut self, it: &Use, value: &Value<'_>, trail: &Trail<'_>) {
        let scalar = matches!(
            value,
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Safe(_)
        );
        if matches!(value, Value::Nil) {
            self.missing(trail.path());
        } else if it.looped && scalar {
            let path = trail.path();
            let message = format!("`{path}` is {}, but a loop goes over it", kind(value));
            self.fault("wrong_type", path, message);
        } else if it.printed && !scalar {
            let path = trail.path();
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

fn with(mut path: String, step: &Step) -> String {
    append(&mut path, step);
    path
}
