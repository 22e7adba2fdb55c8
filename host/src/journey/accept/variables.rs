//! The variables of a template: the data of the send, and the account's brand for variables that the data lacks. `null`
//! counts as lacking; an empty string does not.

use serde_json::{Map, Value};

use super::json::object::ObjectText;
use crate::account::brand::{Brand, BrandField};
use crate::template::version::TemplateVersion;

/// The data of the send over the account's brand.
#[derive(Debug, Clone, Copy)]
pub struct Variables<'a> {
    data: &'a ObjectText,
    brand: &'a Brand,
}

impl<'a> Variables<'a> {
    /// The data of one send of an account with that brand.
    #[must_use]
    pub fn new(data: &'a ObjectText, brand: &'a Brand) -> Self {
        Self { data, brand }
    }

    /// The data of the send.
    #[must_use]
    pub fn data(self) -> &'a ObjectText {
        self.data
    }

    /// Other data over the same brand.
    #[must_use]
    pub fn with<'b>(self, data: &'b ObjectText) -> Variables<'b>
    where
        'a: 'b,
    {
        Variables { data, brand: self.brand }
    }

    /// The required variables of a template that are plainly absent. `data` is `self.data`, already parsed.
    pub fn missing(
        self,
        version: &'a TemplateVersion,
        data: &'a Map<String, Value>,
    ) -> impl Iterator<Item = &'a str> {
        let brand = self.brand;
        let offered = move |path: &str| {
            BrandField::of_variable(path).is_some_and(|it| brand.value(it).is_some())
        };
        version.missing(data).filter(move |path| !offered(path))
    }

    /// All of them as one JSON object.
    #[must_use]
    pub fn to_json(self) -> String {
        self.merged().unwrap_or_else(|| self.data.text().clone())
    }

    /// The merged object; `None` if the brand adds nothing: then the data's own text is it.
    #[must_use]
    pub fn merged(self) -> Option<String> {
        let is_open = |(name, _): &(&str, &str)| {
            self.data.members().all(|(given, value)| unquoted(given) != *name || value == "null")
        };
        let offered: Vec<(&str, &str)> = self.brand.variables().filter(is_open).collect();
        if offered.is_empty() {
            return None;
        }
        let is_kept =
            |(name, _): &(&str, &str)| offered.iter().all(|(it, _)| *it != unquoted(name));
        let room: usize = offered.iter().map(|(name, value)| name.len() + value.len() + 16).sum();
        let mut merged = String::with_capacity(self.data.text().len() + room);
        for (name, value) in self.data.members().filter(is_kept) {
            merged.push(if merged.is_empty() { '{' } else { ',' });
            merged.push_str(name);
            merged.push(':');
            merged.push_str(value);
        }
        for (name, value) in offered {
            merged.push(if merged.is_empty() { '{' } else { ',' });
            push_text(name, &mut merged);
            merged.push(':');
            push_text(value, &mut merged);
        }
        merged.push('}');
        Some(merged)
    }
}

/// Prints a text as JSON.
fn push_text(text: &str, to: &mut String) {
    let stands_as_it_is = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(stands_as_it_is) {
        to.push('"');
        to.push_str(text);
        to.push('"');
    } else {
        to.push_str(&Value::from(text).to_string());
    }
}

/// A name that is printed without escapes, as those of the brand's variables are, without its quotes.
fn unquoted(name: &str) -> &str {
    name.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(data: &Value, brand: &[(BrandField, &str)]) -> Value {
        let brand =
            Brand::stored(brand.iter().map(|(it, value)| (*it, (*value).to_owned())).collect());
        let data = ObjectText::from(data.as_object().expect("an object"));
        serde_json::from_str(&Variables::new(&data, &brand).to_json()).expect("JSON")
    }

    #[test]
    fn the_senders_own_data_wins_over_the_brand() {
        let brand = [(BrandField::ProductName, "Tern"), (BrandField::BrandColor, "#23695e")];
        let data = json!({"code": "1", "product_name": "Other"});
        let expected = json!({"code": "1", "product_name": "Other", "brand_color": "#23695e"});
        assert_eq!(merged(&data, &brand), expected);
        assert_eq!(merged(&json!({}), &[]), json!({}));
    }

    #[test]
    fn null_leaves_a_variable_to_the_brand_and_an_empty_text_does_not() {
        let brand = [(BrandField::ProductName, "Tern")];
        let null = json!({"product_name": null, "name": null});
        assert_eq!(merged(&null, &brand), json!({"product_name": "Tern", "name": null}));
        let quoted = [(BrandField::ProductName, "Tern \"&\" \\")];
        assert_eq!(merged(&json!({}), &quoted), json!({"product_name": "Tern \"&\" \\"}));
        let empty = json!({"product_name": ""});
        assert_eq!(merged(&empty, &brand), empty);
    }
}
