//! The elements of MJML, the attributes that mrml reads of each, and where each may stand.
//!
//! Written from npm mjml 5.4.1 (`allowedAttributes`, `dependencies`), without what mrml 6.0 does not
//! read: `gap`, `gutter`, `sizes`, `mj-html-attributes`.

/// What an element is.
#[derive(Debug)]
pub struct Element {
    pub name: &'static str,
    /// What it may hold.
    pub content: Content,
    attributes: &'static [&'static [&'static str]],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// These elements, and nothing else.
    Elements(&'static [&'static str]),
    /// These elements, and Liquid between them.
    ElementsAndLiquid(&'static [&'static str]),
    /// HTML, text and Liquid.
    Html,
    /// Text and Liquid.
    Text,
    /// Nothing.
    Nothing,
    /// Defaults of other elements.
    Defaults,
}

use Content::{Defaults, Elements, ElementsAndLiquid, Html, Nothing, Text};

/// Attributes of every element of the body.
const COMMON: &[&str] = &["css-class", "mj-class"];
const PADDING: &[&str] =
    &["padding", "padding-bottom", "padding-left", "padding-right", "padding-top"];
const BORDER: &[&str] =
    &["border", "border-bottom", "border-left", "border-radius", "border-right", "border-top"];
const FONT: &[&str] = &["color", "font-family", "font-size", "font-style", "font-weight"];
const LETTERS: &[&str] = &["letter-spacing", "line-height", "text-decoration", "text-transform"];
const LINK: &[&str] = &["href", "name", "rel", "target", "title"];
const BACKGROUND: &[&str] = &[
    "background-color",
    "background-position",
    "background-position-x",
    "background-position-y",
    "background-repeat",
    "background-size",
    "background-url",
];
const ICON: &[&str] = &[
    "icon-align",
    "icon-height",
    "icon-position",
    "icon-unwrapped-alt",
    "icon-unwrapped-url",
    "icon-width",
    "icon-wrapped-alt",
    "icon-wrapped-url",
];
const SECTION: &[&str] = &["direction", "full-width", "text-align", "text-padding"];
/// What a column and a hero hold.
const IN_COLUMN: &[&str] = &[
    "mj-accordion",
    "mj-button",
    "mj-carousel",
    "mj-divider",
    "mj-image",
    "mj-navbar",
    "mj-raw",
    "mj-social",
    "mj-spacer",
    "mj-table",
    "mj-text",
];

const ELEMENTS: &[Element] = &[
    element("mjml", Elements(&["mj-body", "mj-head"]), &[&["dir", "lang", "owa"]]),
    element(
        "mj-head",
        Elements(&[
            "mj-attributes",
            "mj-breakpoint",
            "mj-font",
            "mj-preview",
            "mj-raw",
            "mj-style",
            "mj-title",
        ]),
        &[],
    ),
    element("mj-attributes", Defaults, &[]),
    element("mj-breakpoint", Nothing, &[&["width"]]),
    element("mj-font", Nothing, &[&["href", "name"]]),
    element("mj-preview", Text, &[]),
    element("mj-style", Text, &[&["inline"]]),
    element("mj-title", Text, &[]),
    element(
        "mj-body",
        ElementsAndLiquid(&["mj-hero", "mj-raw", "mj-section", "mj-wrapper"]),
        &[COMMON, &["background-color", "id", "width"]],
    ),
    element(
        "mj-wrapper",
        ElementsAndLiquid(&["mj-hero", "mj-raw", "mj-section"]),
        &[COMMON, PADDING, BORDER, BACKGROUND, SECTION],
    ),
    element(
        "mj-section",
        ElementsAndLiquid(&["mj-column", "mj-group", "mj-raw"]),
        &[COMMON, PADDING, BORDER, BACKGROUND, SECTION],
    ),
    element(
        "mj-group",
        ElementsAndLiquid(&["mj-column", "mj-raw"]),
        &[COMMON, &["background-color", "direction", "vertical-align", "width"]],
    ),
    element(
        "mj-column",
        ElementsAndLiquid(IN_COLUMN),
        &[
            COMMON,
            PADDING,
            BORDER,
            &[
                "background-color",
                "direction",
                "inner-background-color",
                "inner-border",
                "inner-border-bottom",
                "inner-border-left",
                "inner-border-radius",
                "inner-border-right",
                "inner-border-top",
                "vertical-align",
                "width",
            ],
        ],
    ),
    element(
        "mj-hero",
        ElementsAndLiquid(IN_COLUMN),
        &[
            COMMON,
            PADDING,
            &[
                "background-color",
                "background-height",
                "background-position",
                "background-url",
                "background-width",
                "border-radius",
                "height",
                "inner-background-color",
                "inner-padding",
                "inner-padding-bottom",
                "inner-padding-left",
                "inner-padding-right",
                "inner-padding-top",
                "mode",
                "vertical-align",
            ],
        ],
    ),
    element(
        "mj-button",
        Html,
        &[
            COMMON,
            PADDING,
            BORDER,
            FONT,
            LETTERS,
            LINK,
            &[
                "align",
                "background-color",
                "container-background-color",
                "height",
                "inner-padding",
                "text-align",
                "vertical-align",
                "width",
            ],
        ],
    ),
    element(
        "mj-divider",
        Nothing,
        &[
            COMMON,
            PADDING,
            &[
                "align",
                "border-color",
                "border-style",
                "border-width",
                "container-background-color",
                "width",
            ],
        ],
    ),
    element(
        "mj-image",
        Nothing,
        &[
            COMMON,
            PADDING,
            BORDER,
            LINK,
            &[
                "align",
                "alt",
                "container-background-color",
                "fluid-on-mobile",
                "font-size",
                "height",
                "max-height",
                "src",
                "srcset",
                "usemap",
                "width",
            ],
        ],
    ),
    element("mj-raw", Html, &[&["position"]]),
    element(
        "mj-spacer",
        Nothing,
        &[COMMON, PADDING, BORDER, &["container-background-color", "height"]],
    ),
    element(
        "mj-text",
        Html,
        &[
            COMMON,
            PADDING,
            FONT,
            LETTERS,
            &[
                "align",
                "background-color",
                "container-background-color",
                "height",
                "vertical-align",
            ],
        ],
    ),
    element(
        "mj-table",
        Html,
        &[
            COMMON,
            PADDING,
            FONT,
            &[
                "align",
                "border",
                "cellpadding",
                "cellspacing",
                "container-background-color",
                "line-height",
                "role",
                "table-layout",
                "vertical-align",
                "width",
            ],
        ],
    ),
    element(
        "mj-social",
        Elements(&["mj-raw", "mj-social-element"]),
        &[
            COMMON,
            PADDING,
            FONT,
            &[
                "align",
                "border",
                "border-radius",
                "container-background-color",
                "icon-height",
                "icon-padding",
                "icon-size",
                "inner-padding",
                "line-height",
                "mode",
                "table-layout",
                "text-decoration",
                "text-padding",
                "vertical-align",
            ],
        ],
    ),
    element(
        "mj-social-element",
        Html,
        &[
            COMMON,
            PADDING,
            FONT,
            LINK,
            &[
                "align",
                "alt",
                "background-color",
                "border",
                "border-radius",
                "icon-height",
                "icon-padding",
                "icon-position",
                "icon-size",
                "line-height",
                "src",
                "srcset",
                "text-decoration",
                "text-padding",
                "vertical-align",
            ],
        ],
    ),
    element(
        "mj-navbar",
        Elements(&["mj-navbar-link", "mj-raw"]),
        &[
            COMMON,
            PADDING,
            &[
                "align",
                "base-url",
                "hamburger",
                "ico-align",
                "ico-close",
                "ico-color",
                "ico-font-family",
                "ico-font-size",
                "ico-line-height",
                "ico-open",
                "ico-padding",
                "ico-padding-bottom",
                "ico-padding-left",
                "ico-padding-right",
                "ico-padding-top",
                "ico-text-decoration",
                "ico-text-transform",
            ],
        ],
    ),
    element("mj-navbar-link", Html, &[COMMON, PADDING, FONT, LETTERS, LINK]),
    element(
        "mj-accordion",
        Elements(&["mj-accordion-element", "mj-raw"]),
        &[COMMON, PADDING, ICON, &["border", "container-background-color", "font-family"]],
    ),
    element(
        "mj-accordion-element",
        Elements(&["mj-accordion-text", "mj-accordion-title", "mj-raw"]),
        &[COMMON, ICON, &["background-color", "border", "font-family"]],
    ),
    element("mj-accordion-text", Html, &[COMMON, PADDING, FONT, LETTERS, &["background-color"]]),
    element("mj-accordion-title", Html, &[COMMON, PADDING, FONT, &["background-color"]]),
    element(
        "mj-carousel",
        Elements(&["mj-carousel-image"]),
        &[
            COMMON,
            PADDING,
            &[
                "align",
                "border-radius",
                "container-background-color",
                "icon-width",
                "left-icon",
                "right-icon",
                "tb-border",
                "tb-border-radius",
                "tb-hover-border-color",
                "tb-selected-border-color",
                "tb-width",
                "thumbnails",
            ],
        ],
    ),
    element(
        "mj-carousel-image",
        Nothing,
        &[
            COMMON,
            &[
                "alt",
                "border-radius",
                "href",
                "rel",
                "src",
                "target",
                "tb-border",
                "tb-border-radius",
                "thumbnails-src",
                "title",
            ],
        ],
    ),
];

const fn element(
    name: &'static str,
    content: Content,
    attributes: &'static [&'static [&'static str]],
) -> Element {
    Element { name, content, attributes }
}

/// Elements of HTML that have no end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

pub fn find(name: &str) -> Option<&'static Element> {
    ELEMENTS.iter().find(|it| it.name == name)
}

pub fn is_void(name: &str) -> bool {
    VOID.contains(&name)
}

/// The known element that is most like an unknown one.
pub fn nearest_element(name: &str) -> Option<&'static str> {
    nearest(name, ELEMENTS.iter().map(|it| it.name))
}

/// Elements that may hold this one.
pub fn parents(name: &str) -> Vec<&'static str> {
    let holds = |it: &&Element| it.content.children().contains(&name);
    ELEMENTS.iter().filter(holds).map(|it| it.name).collect()
}

/// Whether an attribute may have any name of any element: those of `mj-all` and `mj-class`.
pub fn is_any_attribute(name: &str) -> bool {
    ELEMENTS.iter().any(|it| it.has(name))
}

/// Whether mrml computes with an attribute's value, so that it must be a number when it compiles.
/// Of a border only the width, its first word, is a number.
pub fn is_measure(attribute: &str) -> bool {
    let ends = |end: &str| attribute.ends_with(end) && attribute != "line-height";
    ends("width") || ends("height") || ends("icon-size") || attribute.contains("padding")
}

pub fn is_border(attribute: &str) -> bool {
    let name = attribute.strip_prefix("inner-").unwrap_or(attribute);
    let side = name.strip_prefix("border-");
    name == "border"
        || name == "tb-border"
        || side.is_some_and(|it| ["bottom", "left", "right", "top"].contains(&it))
}

/// The candidate that is most like a name, where one is like it.
pub fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let distance = |it: &'c str| (strsim::damerau_levenshtein(name, it), it);
    let (distance, nearest) = candidates.map(distance).min()?;
    (distance <= name.chars().count() / 3).then_some(nearest)
}

impl Element {
    pub fn has(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|it| it.contains(&attribute))
    }

    pub fn nearest_attribute(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.attributes.iter().copied().flatten().copied())
    }
}

impl Content {
    fn children(self) -> &'static [&'static str] {
        match self {
            Elements(children) | ElementsAndLiquid(children) => children,
            Html | Text | Nothing | Defaults => &[],
        }
    }

    pub fn may_hold(self, element: &str) -> bool {
        self.children().contains(&element)
    }
}
