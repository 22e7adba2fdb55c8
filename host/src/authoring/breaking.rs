//! Which sends that are accepted today another version would refuse.

use serde::Serialize;
use utoipa::ToSchema;

use super::agreement::is_below;
use crate::account::brand::{Brand, BrandField};
use crate::template::version::{Variable, VariableFormat, VariableType};

/// A change that would have sends refused, or leave out what they give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakingChange {
    /// The template, where a layout or partial is published that it is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The account of that template, where the layout or partial is the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The variable, as in `user.name`, or `data` where no single one is to blame; `sender` or `requiredPlan` where the
    /// change is of the template itself.
    pub path: String,
    pub change: BreakingKind,
    /// What it was before, as in `optional`, `not read` or `string`.
    pub before: String,
    /// What it is now.
    pub after: String,
}

/// How a change breaks senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakingKind {
    /// A send without it was accepted, and is refused now.
    Required,
    /// The data of a send was accepted, and is refused now for the type of a value. Also where a value was printed and only
    /// members of it are read now: a text that senders give is not shown any more.
    Type,
    /// A send with a value of another format, or of none, was accepted, and is refused now.
    Format,
    /// What senders give was shown, and nothing reads it now.
    Gone,
    /// The template's sender is of a domain that may not send, so a send that names no sender is refused.
    Sender,
    /// The template needs another plan than the account has.
    Plan,
}

/// What a version asks of its senders.
#[derive(Debug, Clone, Copy)]
pub struct Demands<'a> {
    pub variables: &'a [Variable],
    /// Whether a send is refused that leaves a variable blank: optional variables are as good as required then.
    pub strict: bool,
}

impl BreakingChange {
    /// A change of a template of the account that publishes.
    pub(super) fn new(path: &str, change: BreakingKind, before: String, after: String) -> Self {
        Self { template: None, account: None, path: path.to_owned(), change, before, after }
    }

    #[must_use]
    pub fn in_words(&self) -> String {
        let of =
            |it: &Option<String>| it.as_ref().map(|it| format!(" of {it}")).unwrap_or_default();
        let of = of(&self.template) + &of(&self.account);
        format!("`{}`{of} was {} and is {}", self.path, self.before, self.after)
    }
}

/// The changes between two versions that break senders. What the brand offers is never missing.
#[must_use]
pub fn changes(before: Demands<'_>, after: Demands<'_>, brand: &Brand) -> Vec<BreakingChange> {
    let change = |it: &Variable, change, before: &str, after: &str| {
        BreakingChange::new(&it.path, change, before.to_owned(), after.to_owned())
    };
    let mut changes = Vec::new();
    for now in after.variables {
        let was = before.variables.iter().find(|it| it.path == now.path);
        let was_read = was.is_some() || before.reads_near(&now.path);
        let offered =
            BrandField::of_variable(&now.path).is_some_and(|it| brand.value(it).is_some());
        let was_needed = was.is_some_and(|it| before.needs(it)) || before.needs_inside(&now.path);
        // An object whose member was required was sent by everybody, so it counts as required before. A required object
        // says nothing of its members. The size of a list that was read before is known.
        let is_size = now.path.strip_suffix(".size").is_some_and(|list| before.reads_near(list));
        let is_demanded = after.needs(now) && !was_needed && !offered && !is_size;
        if is_demanded {
            let was = if was.is_some() { "optional" } else { "not read" };
            let now_is =
                if now.required { "required" } else { "refused where it is printed blank" };
            changes.push(change(now, BreakingKind::Required, was, now_is));
        }
        // Nobody gave what nothing read: that it is required says it all.
        if is_demanded && was.is_none() {
            continue;
        }
        let (was_type, is_type) = (was.and_then(|it| it.value_type), now.value_type);
        let (was_format, is_format) = (was.and_then(|it| it.format), now.format);
        if was_read && is_type.is_some() && was_type != is_type {
            let word = |it: Option<VariableType>| it.map_or("of any type", VariableType::as_str);
            changes.push(change(now, BreakingKind::Type, word(was_type), word(is_type)));
        } else if was_read && is_format.is_some() && was_format != is_format {
            let any = is_type.map_or("of any format", |it| match it {
                VariableType::Number => "any number",
                VariableType::String => "any text",
                VariableType::Boolean | VariableType::Array | VariableType::Object => "any value",
            });
            let word = |it: Option<VariableFormat>| it.map_or(any, VariableFormat::as_str);
            changes.push(change(now, BreakingKind::Format, word(was_format), word(is_format)));
        }
    }
    for was in before.variables.iter().filter(|it| !it.declared_only && it.value_type.is_none()) {
        let path = was.path.as_str();
        let is_told = |it: &BreakingChange| it.path == path || is_below(&it.path, path);
        let was_printed = !before.reads_members(path);
        let has_members_alone = after.reads_members(path) && !after.reads(path);
        if was_printed && has_members_alone && !changes.iter().any(is_told) {
            let (one, members) = ("read as one value", "read by its members");
            changes.push(change(was, BreakingKind::Type, one, members));
        }
    }
    for was in before.variables.iter().filter(|it| !it.declared_only) {
        let is_of_brand = BrandField::of_variable(&was.path).is_some();
        if !after.reads(&was.path) && !after.takes(&was.path) && !is_of_brand {
            changes.push(change(was, BreakingKind::Gone, "read", "not read"));
        }
    }
    changes
}

impl Demands<'_> {
    fn needs(self, variable: &Variable) -> bool {
        // What its author alone names is never blank.
        variable.required || (self.strict && !variable.declared_only)
    }

    /// Whether a member inside the path is required: then so is what is around it.
    fn needs_inside(self, path: &str) -> bool {
        let is_member = |it: &Variable| {
            it.path
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('.') && !rest.contains('['))
        };
        self.variables.iter().any(|it| it.required && is_member(it))
    }

    /// Whether the path is within a value that is read whole, or something inside it is read. Where single members are
    /// read of a value, the others are not.
    fn takes(self, path: &str) -> bool {
        let read = || self.variables.iter().filter(|it| !it.declared_only);
        let around = read().filter(|it| is_below(path, &it.path)).max_by_key(|it| it.path.len());
        let is_whole = |around: &Variable| !read().any(|it| is_below(&it.path, &around.path));
        around.is_some_and(is_whole) || read().any(|it| is_below(&it.path, path))
    }

    /// Whether the template reads the value at the path, and not only members of it.
    fn reads(self, path: &str) -> bool {
        self.variables.iter().any(|it| it.path == path && !it.declared_only)
    }

    /// Whether the template reads members or items of the value. Texts, lists and objects alike have a size, a first and
    /// a last.
    fn reads_members(self, path: &str) -> bool {
        let is_of_any = |rest: &str| matches!(rest, ".size" | ".first" | ".last");
        let mut read = self.variables.iter().filter(|it| !it.declared_only);
        read.any(|it| {
            is_below(&it.path, path) && !it.path.strip_prefix(path).is_some_and(is_of_any)
        })
    }

    /// Whether something around the path is read, or something inside it.
    fn reads_near(self, path: &str) -> bool {
        self.variables.iter().any(|it| is_below(&it.path, path) || is_below(path, &it.path))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn variable(text: &str) -> Variable {
        let (path, rest) = text.split_once(':').unwrap_or((text, ""));
        Variable {
            path: path.trim_end_matches(['?', '!']).to_owned(),
            required: !path.ends_with(['?', '!']),
            value_type: VariableType::from_name(rest.split('/').next().unwrap_or_default()),
            declared_only: path.ends_with('!'),
            format: rest.split_once('/').and_then(|(_, it)| VariableFormat::from_name(it)),
        }
    }

    fn told(before: &[&str], after: &[&str]) -> Vec<String> {
        let read = |all: &[&str]| all.iter().map(|it| variable(it)).collect::<Vec<_>>();
        let (before, after) = (read(before), read(after));
        let demands = |variables| Demands { variables, strict: false };
        let changes = changes(demands(&before), demands(&after), &Brand::default());
        changes.iter().map(BreakingChange::in_words).collect()
    }

    #[test]
    fn a_variable_that_becomes_required_breaks_senders() {
        assert_eq!(told(&["a"], &["a", "b"]), ["`b` was not read and is required"]);
        assert_eq!(told(&["a?"], &["a"]), ["`a` was optional and is required"]);
        assert!(told(&["a"], &["a", "b?"]).is_empty());
        assert!(told(&["a"], &["a?"]).is_empty());
    }

    #[test]
    fn a_variable_that_nothing_reads_any_more_breaks_senders() {
        assert_eq!(told(&["a", "b"], &["a"]), ["`b` was read and is not read"]);
        assert_eq!(told(&["a?"], &["a!"]), ["`a` was read and is not read"]);
        assert!(told(&["a", "a.b"], &["a"]).is_empty(), "it is in what is read");
        assert!(told(&["a"], &["a", "a.b?"]).is_empty(), "a part of it is read");
        assert!(told(&["a!"], &[]).is_empty(), "nothing read it before");
        assert!(told(&["product_name"], &[]).is_empty(), "the brand gives it");
        let (two, one) = (["a", "a[].b?", "a[].c?"], ["a", "a[].b?"]);
        assert_eq!(told(&two, &one), ["`a[].c` was read and is not read"]);
        assert!(told(&two, &["a"]).is_empty(), "the whole list is read");
        assert_eq!(told(&["u.b", "u!:object"], &["u!:object"]), ["`u.b` was read and is not read"]);
    }

    #[test]
    fn another_or_a_narrower_type_breaks_senders() {
        assert_eq!(told(&["a:string"], &["a:number"]), ["`a` was string and is number"]);
        assert_eq!(told(&["a"], &["a:number"]), ["`a` was of any type and is number"]);
        assert!(told(&["a:number"], &["a"]).is_empty());
    }

    #[test]
    fn a_value_that_is_read_by_its_members_breaks_senders() {
        assert!(told(&["a.b"], &["a"]).is_empty(), "a trial with data says it");
        assert_eq!(
            told(&["a"], &["a.b?"]),
            ["`a` was read as one value and is read by its members"]
        );
        assert_eq!(told(&["a"], &["a.b"]), ["`a.b` was not read and is required"]);
        assert!(told(&["a.b"], &["a:object"]).len() == 1, "its type says it");
        assert!(told(&["a.size"], &["a"]).is_empty(), "a text has a size too");
        assert!(told(&["a"], &["a", "a[].b?"]).is_empty(), "a loop goes over lists and objects");
        assert!(told(&["a", "a[].b"], &["a", "a.size", "a[].b"]).is_empty(), "a list has a size");
    }

    #[test]
    fn another_or_a_narrower_format_breaks_senders() {
        assert_eq!(told(&["a:string"], &["a:string/date"]), ["`a` was any text and is date"]);
        assert_eq!(told(&["a:string/url"], &["a:string/date"]), ["`a` was url and is date"]);
        assert_eq!(told(&["a"], &["a:number/money"]), ["`a` was of any type and is number"]);
        assert!(told(&["a:string/date"], &["a:string"]).is_empty());
        assert!(told(&["a:string/date"], &["a:string/date"]).is_empty());
    }

    #[test]
    fn newly_declared_items_and_members_break_senders_by_type_alone() {
        assert_eq!(told(&["a"], &["a", "a[]!:string"]), ["`a[]` was of any type and is string"]);
        assert_eq!(told(&["a.b"], &["a.b", "a:object"]), ["`a` was of any type and is object"]);
        assert!(told(&["a"], &["a", "a[]!"]).is_empty());
    }

    #[test]
    fn a_strict_template_needs_all_that_it_reads() {
        let variables = [variable("a?")];
        let demands = |strict| Demands { variables: &variables, strict };
        let brand = Brand::default();
        assert_eq!(changes(demands(false), demands(true), &brand).len(), 1);
        let told = changes(demands(false), demands(true), &brand);
        assert_eq!(told[0].in_words(), "`a` was optional and is refused where it is printed blank");
        assert!(changes(demands(true), demands(true), &brand).is_empty());
        assert!(changes(demands(true), demands(false), &brand).is_empty());
    }

    #[test]
    fn what_the_brand_offers_is_never_missing() {
        let brand = Brand::stored(BTreeMap::from([(BrandField::ProductName, "Tern".to_owned())]));
        let after = [variable("product_name"), variable("product_url")];
        let demands = |variables| Demands { variables, strict: false };
        let changes = changes(demands(&[]), demands(&after), &brand);
        let paths: Vec<&str> = changes.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["product_url"]);
    }
}
