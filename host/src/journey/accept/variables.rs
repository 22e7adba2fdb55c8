//! What a template is rendered with: the sender's data, and the account's brand where the data says
//! nothing. `null` says nothing; an empty string does.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::account::brand::{Brand, BrandField};
use crate::template::version::TemplateVersion;

/// The sender's data over the account's brand.
#[derive(Debug, Clone, Copy)]
pub struct Variables<'a> {
    data: &'a Map<String, Value>,
    brand: &'a Brand,
}

impl<'a> Variables<'a> {
    /// The data of one send of an account with that brand.
    #[must_use]
    pub fn new(data: &'a Map<String, Value>, brand: &'a Brand) -> Self {
        Self { data, brand }
    }

    /// What the sender gave.
    #[must_use]
    pub fn data(self) -> &'a Map<String, Value> {
        self.data
    }

    /// Other data over the same brand.
    #[must_use]
    pub fn with<'b>(self, data: &'b Map<String, Value>) -> Variables<'b>
    where
        'a: 'b,
    {
        Variables { data, brand: self.brand }
    }

    /// The required variables of a template that are plainly absent.
    pub fn missing(self, version: &'a TemplateVersion) -> impl Iterator<Item = &'a str> {
        let brand = self.brand;
        let offered = move |path: &str| {
            BrandField::of_variable(path).is_some_and(|it| brand.value(it).is_some())
        };
        version.missing(self.data).filter(move |path| !offered(path))
    }

    /// Whether the data leaves a variable to the brand.
    fn is_open(&self, name: &str) -> bool {
        self.data.get(name).is_none_or(Value::is_null)
    }
}

impl Serialize for Variables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let offered = |(name, _): &(&str, &str)| self.is_open(name);
        let offered: Vec<(&str, &str)> = self.brand.variables().filter(offered).collect();
        let given = self
            .data
            .iter()
            .filter(|(name, _)| offered.iter().all(|(offered, _)| offered != &name.as_str()));
        // A map of values borrowed from both: the data of a send may be large, and is not cloned.
        let given = given.map(|(name, value)| (name.as_str(), Either::Given(value)));
        let offered = offered.iter().map(|(name, value)| (*name, Either::Offered(value)));
        serializer.collect_map(given.chain(offered))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Either<'a> {
    Given(&'a Value),
    Offered(&'a str),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(data: &Value, brand: &[(BrandField, &str)]) -> Value {
        let brand =
            Brand::stored(brand.iter().map(|(it, value)| (*it, (*value).to_owned())).collect());
        let data = data.as_object().expect("an object");
        serde_json::to_value(Variables::new(data, &brand)).expect("JSON")
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
        let empty = json!({"product_name": ""});
        assert_eq!(merged(&empty, &brand), empty);
    }
}
