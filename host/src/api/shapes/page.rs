//! Pages of lists.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A page of a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    data: Vec<T>,
    has_more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl<T> Page<T> {
    /// `next` is what the next page comes after; the last page has none.
    pub fn new(data: impl IntoIterator<Item: Into<T>>, next: Option<impl ToString>) -> Self {
        let data = data.into_iter().map(Into::into).collect();
        Self { data, has_more: next.is_some(), next: next.map(|it| it.to_string()) }
    }

    /// The beginning of a list that goes on elsewhere.
    pub fn beginning(data: impl IntoIterator<Item: Into<T>>, has_more: bool) -> Self {
        Self { has_more, ..Self::whole(data) }
    }

    /// A list that is always given as a whole.
    pub fn whole(data: impl IntoIterator<Item: Into<T>>) -> Self {
        Self::new(data, None::<String>)
    }
}

/// What the document says of a page.
#[derive(Debug)]
pub struct PageDoc {
    pub name: &'static str,
    pub about: &'static str,
    pub data: &'static str,
    pub has_more: &'static str,
    pub next: Option<&'static str>,
}

/// A list that is given page by page.
pub const PAGED: PageDoc = PageDoc {
    name: "",
    about: "",
    data: "",
    has_more: "Whether there may be more.",
    next: Some("What to give as `after` for the next page, where there may be more."),
};

/// A list that is always given as a whole.
pub const WHOLE: PageDoc = PageDoc { has_more: "Always false.", next: None, ..PAGED };

/// What stands in pages.
pub trait Listed: ToSchema {
    const PAGE: PageDoc;

    fn item() -> RefOr<Schema> {
        Ref::from_schema_name(Self::name()).into()
    }
}

impl<T: Listed> PartialSchema for Page<T> {
    fn schema() -> RefOr<Schema> {
        let data = ArrayBuilder::new().items(T::item()).description(Some(T::PAGE.data));
        let member = |kind: SchemaType, about: &str| {
            ObjectBuilder::new().schema_type(kind).description(Some(about))
        };
        let has_more = member(Type::Boolean.into(), T::PAGE.has_more);
        let mut page = ObjectBuilder::new()
            .description(Some(T::PAGE.about))
            .property("data", data)
            .required("data")
            .property("hasMore", has_more)
            .required("hasMore");
        if let Some(about) = T::PAGE.next {
            let nullable = SchemaType::from_iter([Type::String, Type::Null]);
            page = page.property("next", member(nullable, about));
        }
        page.into()
    }
}

impl<T: Listed> ToSchema for Page<T> {
    fn name() -> Cow<'static, str> {
        T::PAGE.name.into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        if let RefOr::Ref(_) = T::item() {
            schemas.push((T::name().into_owned(), T::schema()));
        }
        T::schemas(schemas);
    }
}

/// Things of any kind.
impl Listed for serde_json::Value {
    const PAGE: PageDoc = PageDoc {
        name: "Listing",
        about: "Some of a list.",
        data: "The things.",
        has_more: "Whether there may be more; `?after=` the last one goes on, or `next` where it is there.",
        next: Some(
            "What to give as `after` for the next page; in lists whose pages may be short or empty.",
        ),
    };

    fn item() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Object).into()
    }
}

/// The document leaves open what stands in such a page.
pub type Listing = Page<serde_json::Value>;
