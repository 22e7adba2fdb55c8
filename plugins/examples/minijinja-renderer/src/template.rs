//! A template with everything that it needs, parsed once.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use waxwing_html_text::{lines, of_markup, one_line};
use waxwing_plugin::renderer::{Body, Output, Part, Template, Variable};
use waxwing_plugin::{Diagnostic, Failure, Pair};

use crate::faults::Sources;
use crate::{data, variables};

/// Calls of includes and macros inside of each other: a guest's stack is small.
const MAX_RECURSION: usize = 50;
const LAYOUT: &str = "layout";

pub struct Compiled {
    /// The HTML part, the layout, and partials that are escaped.
    html: Environment<'static>,
    /// The other parts, and partials that are not escaped.
    plain: Environment<'static>,
    parts: Vec<Part>,
    has_layout: bool,
    variables: Vec<Variable>,
    sources: Sources,
}

impl Compiled {
    /// Parses every source.
    ///
    /// # Errors
    /// Faults of all of them.
    pub fn new(template: &Template) -> Result<Self, Vec<Diagnostic>> {
        let mut sources = Sources::default();
        for Pair { key, value } in &template.partials {
            sources.add(&format!("partial:{key}"), value);
        }
        for it in &template.sources {
            sources.add(name(it.part), &it.text);
        }
        if let Some(layout) = &template.layout {
            sources.add(LAYOUT, layout);
        }
        let (mut html, mut plain) = (environment(AutoEscape::Html), environment(AutoEscape::None));
        let mut faults = Vec::new();
        for (label, text) in sources.all() {
            // A partial is included by its name; parts cannot be included at all.
            let name =
                label.strip_prefix("partial:").map_or_else(|| format!("/{label}"), str::to_owned);
            for environment in [&mut html, &mut plain] {
                if let Err(error) = environment.add_template_owned(name.clone(), text.to_owned()) {
                    let fault = sources.fault(&error);
                    if !faults.contains(&fault) {
                        faults.push(fault);
                    }
                }
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let parts: Vec<Part> = template.sources.iter().map(|it| it.part).collect();
        let has_layout = template.layout.is_some();
        let labels = parts.iter().map(|it| name(*it)).chain(has_layout.then_some(LAYOUT));
        let variables = variables::read(&sources, labels, &html)?;
        Ok(Self { html, plain, parts, has_layout, variables, sources })
    }

    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    pub fn weight(&self) -> u32 {
        let texts: usize = self.sources.all().map(|(_, text)| text.len()).sum();
        // The instructions of both environments, and the sources.
        u32::try_from(texts * 10 + 16 * 1024).unwrap_or(u32::MAX)
    }

    /// Renders every part; a text is made of the HTML where there is none.
    ///
    /// # Errors
    /// The data are wrong, or the template with these data.
    pub fn render(&self, text: &str) -> Result<Output, Failure> {
        let values = data::read(text)?;
        let faults = data::missing(&values, &self.variables);
        if !faults.is_empty() {
            return Err(Failure::InvalidInput(faults));
        }
        let context = data::as_context(&values)?;
        let mut bodies: Vec<Body> = Vec::new();
        let mut html = None;
        for part in &self.parts {
            let text = match part {
                Part::Html => {
                    html = Some(self.run(&self.html, name(Part::Html), context.clone())?);
                    continue;
                }
                Part::Subject | Part::Preheader => {
                    one_line(&self.run(&self.plain, name(*part), context.clone())?)
                }
                Part::Text => lines(&self.run(&self.plain, name(Part::Text), context.clone())?),
            };
            bodies.push(Body { part: *part, text });
        }
        if let Some(content) = html {
            let text = if self.has_layout {
                self.in_layout(&content, &bodies, &context)?
            } else {
                content
            };
            if !self.parts.contains(&Part::Text) {
                bodies.push(Body { part: Part::Text, text: lines(&of_markup(&text)) });
            }
            bodies.push(Body { part: Part::Html, text });
        }
        Ok(Output { bodies, missing: data::absent(&values, &self.variables) })
    }

    /// The layout around the HTML: `content` is markup already, subject and preheader are text.
    fn in_layout(&self, content: &str, bodies: &[Body], data: &Value) -> Result<String, Failure> {
        let of = |part: Part| {
            let body = bodies.iter().find(|it| it.part == part);
            body.map_or_else(String::new, |it| it.text.clone())
        };
        let given = minijinja::context! {
            content => Value::from_safe_string(content.to_owned()),
            subject => of(Part::Subject),
            preheader => of(Part::Preheader),
            ..data.clone()
        };
        self.run(&self.html, LAYOUT, given)
    }

    fn run(
        &self,
        environment: &Environment<'_>,
        label: &str,
        data: Value,
    ) -> Result<String, Failure> {
        let rendered =
            environment.get_template(&format!("/{label}")).and_then(|it| it.render(data));
        rendered.map_err(|error| self.sources.failure(&error))
    }
}

fn environment(escape: AutoEscape) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(move |_| escape.clone());
    // What is required is checked before; what is optional is empty where it is absent.
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_recursion_limit(MAX_RECURSION);
    // Errors have their place in the source.
    environment.set_debug(true);
    environment
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Subject => "subject",
        Part::Preheader => "preheader",
        Part::Html => "html",
        Part::Text => "text",
    }
}
