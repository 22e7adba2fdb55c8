//! Plugins: what decides, since when, how well; and the orders to activate, to roll back and to switch off.

use askama::Template;
use axum::extract::{FromRequest, Path, Request, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use serde_json::Value;

use super::operating::{self, Operating, Order, record};
use super::plugin_slot::{NodeLine, find, short};
use crate::clock::Timestamp;
use crate::dashboard::form::Form;
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::{Theme, Visitor, in_path};
use crate::dashboard::response::{Failure, page, sentence, with_status};
use crate::dashboard::state::Dashboard;
use crate::dashboard::words::{When, counted_if_any, number};
use crate::plugin::comparison::{Difference, Group};
use crate::plugin::installed::InstalledPlugin;
use crate::plugin::slot::{OnFailure, SlotName};
use crate::plugin::status::{CandidateStatus, NodeState, SlotStatus, Standing};
use crate::plugin::supervisor::{Order as PluginOrder, OrderError};
use crate::plugin::{CallPurpose, Line};

const LOG_LINES: usize = 50;
/// Live calls that a page has a component answer in the shadow.
const MAX_SHADOW: u32 = 100_000;
const NOTHING_BEFORE: &str = "There is nothing to roll back to.";

/// What answers the calls of a slot, in a list.
#[derive(Debug)]
struct SlotLine {
    name: String,
    badge: (&'static str, &'static str),
    state: &'static str,
    kind: &'static str,
    binding: String,
    plugin: String,
    digest: String,
    micros: String,
    trapped: u64,
    /// What the operator should look at.
    wants: Option<String>,
}

/// One of a plugin's settings.
#[derive(Debug)]
struct SettingLine {
    name: String,
    value: String,
    is_default: bool,
    about: String,
}

/// What a comparison with the live plugin has found.
#[derive(Debug)]
struct Comparison {
    title: &'static str,
    compared: String,
    /// Answered otherwise, and served worse.
    changed: String,
    failed: String,
    is_worse: bool,
    groups: Vec<Group>,
    examples: Vec<Difference>,
}

#[derive(Debug)]
struct CandidateView {
    name: String,
    digest: String,
    stage: String,
    rejected: Option<String>,
    waits: Option<String>,
    comparisons: Vec<Comparison>,
}

#[derive(Debug)]
struct PreviousView {
    digest: String,
    settings: u32,
    since: String,
}

#[derive(Debug)]
struct ActiveView {
    name: String,
    version: String,
    summary: String,
    digest: String,
    is_builtin: bool,
    generation: u32,
    since: Option<When>,
    calls: String,
    micros: String,
    trapped: u64,
    gave_up: String,
    /// As in `2 inputs`: those that made it trap; none where there are none.
    inputs: Option<String>,
    on_failure: &'static str,
    settings: Vec<SettingLine>,
    shadow: Option<Comparison>,
}

#[derive(Template)]
#[template(path = "app/ops/plugins.html")]
struct PluginsPage {
    frame: Frame,
    slots: Vec<SlotLine>,
}

#[derive(Template)]
#[template(path = "app/ops/plugin.html")]
struct PluginPage {
    frame: Frame,
    slot: SlotLine,
    active: Option<ActiveView>,
    candidate: Option<CandidateView>,
    previous: Option<PreviousView>,
    quarantined: Vec<(String, String, Option<When>)>,
    is_unsaved: bool,
    nodes: Vec<NodeLine>,
    /// The orders that may be given, each with the word of its path and the class of its button.
    orders: Vec<(&'static str, &'static str, &'static str)>,
    lines: Vec<Line>,
    /// As in `2 lines were`; none where none was dropped.
    dropped: Option<String>,
    /// Which components and settings the page shows, for its forms.
    seen: String,
    /// Why an order of the page was refused.
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/ops/plugin_order.html")]
struct OrderPage {
    frame: Frame,
    slot: String,
    title: String,
    about: Vec<String>,
    button: &'static str,
    /// Whether there is something to order.
    is_possible: bool,
    is_danger: bool,
    /// Which components and settings the page speaks of.
    seen: String,
    fault: Option<String>,
}

/// What a person may order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Activate,
    RollBack,
    Disable,
}

impl Wanted {
    fn of(word: &str) -> Result<Self, Failure> {
        match word {
            "activate" => Ok(Self::Activate),
            "rollback" => Ok(Self::RollBack),
            "disable" => Ok(Self::Disable),
            _ => Err(Failure::Missing),
        }
    }

    fn order(self) -> PluginOrder {
        match self {
            Self::Activate => PluginOrder::Activate,
            Self::RollBack => PluginOrder::RollBack,
            Self::Disable => PluginOrder::Disable,
        }
    }

    /// As the API writes the operation into the audit log, and the word of the notice.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Activate => ("activate_plugin", "activated"),
            Self::RollBack => ("roll_back_plugin", "rolled-back"),
            Self::Disable => ("disable_plugin", "disabled"),
        }
    }
}

impl SlotLine {
    fn of(name: &SlotName, view: &SlotStatus) -> Self {
        let active = view.active.as_ref();
        let (state, badge) = match view.standing() {
            Standing::Active => ("active", ("good", "✓")),
            Standing::Disabled => ("switched off", ("off", "–")),
            Standing::Empty => ("empty", ("off", "–")),
        };
        let wants = match &view.candidate {
            Some(CandidateStatus { rejected: Some(_), .. }) => Some("candidate refused"),
            Some(CandidateStatus { waits: Some(_), .. }) => Some("candidate waits for you"),
            Some(_) => Some("candidate is being checked"),
            None if view.is_unsaved => Some("state is not saved"),
            None if view.nodes.iter().any(|it| it.state != NodeState::Active) => {
                Some("not on all nodes")
            }
            None if !view.quarantined.is_empty() => Some("in quarantine"),
            None => None,
        };
        let identity = active.map(InstalledPlugin::identity);
        Self {
            name: name.as_str().to_owned(),
            badge,
            state,
            kind: active.map_or("", |it| it.kind().as_str()),
            binding: active.map_or_else(String::new, |it| it.config().binding.to_string()),
            plugin: identity.map_or_else(String::new, |it| format!("{} {}", it.name, it.version)),
            digest: identity.map_or_else(String::new, |it| short(&it.digest)),
            micros: active.map_or_else(String::new, micros),
            trapped: active.map_or(0, |it| it.stats().failed()),
            wants: wants.map(str::to_owned),
        }
    }
}

impl ActiveView {
    fn of(view: &SlotStatus, now: Timestamp) -> Option<Self> {
        let active = view.active.as_ref()?;
        let (identity, manifest, stats) = (active.identity(), active.manifest(), active.stats());
        let since = view.since.as_deref().and_then(Timestamp::parse_rfc3339);
        Some(Self {
            name: identity.name.clone(),
            version: identity.version.clone(),
            summary: manifest.summary.clone(),
            digest: identity.digest.clone(),
            is_builtin: view.is_builtin,
            generation: identity.settings_revision,
            since: since.map(|at| When::of(at, now)),
            calls: count(stats.calls()),
            micros: micros(active),
            trapped: stats.failed(),
            gave_up: count(stats.gave_up()),
            inputs: u64::try_from(stats.inputs_in_quarantine())
                .ok()
                .and_then(|it| counted_if_any(it, "input", "inputs")),
            on_failure: match active.config().on_failure {
                OnFailure::Closed => "the send is refused, and nothing is charged",
                OnFailure::Builtin => "the built-in plugin of the kind decides",
            },
            settings: settings(&active.generation_config().settings, &manifest.settings_schema),
            shadow: view.shadow.clone().map(|it| Comparison {
                title: "Live calls that it answered in the shadow, before it was active",
                compared: number(i64::from(it.compared)),
                changed: number(i64::from(it.different)),
                failed: number(i64::from(it.failed)),
                is_worse: it.failed > 0,
                groups: it.groups,
                examples: it.differences,
            }),
        })
    }
}

impl CandidateView {
    fn of(it: &CandidateStatus) -> Self {
        let mut comparisons = Vec::new();
        if let Some(impact) = &it.impact {
            comparisons.push(Comparison {
                title: "Recorded calls, answered by both",
                compared: number(i64::from(impact.compared)),
                changed: number(i64::from(impact.would_change)),
                failed: number(i64::from(impact.would_fail)),
                is_worse: impact.is_worse(),
                groups: impact.groups.clone(),
                examples: impact.differences.clone(),
            });
        }
        if let Some(shadow) = it.shadow.as_ref().map(|it| it.report()) {
            comparisons.push(Comparison {
                title: "Live calls, in the shadow",
                compared: number(i64::from(shadow.compared)),
                changed: number(i64::from(shadow.different)),
                failed: number(i64::from(shadow.failed)),
                is_worse: shadow.failed > 0,
                groups: shadow.groups,
                examples: shadow.differences,
            });
        }
        let stage = serde_json::to_value(it.stage).ok();
        Self {
            name: it.name.clone().unwrap_or_else(|| "not read yet".to_owned()),
            digest: it.digest.as_deref().map(short).unwrap_or_default(),
            stage: stage.and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default(),
            rejected: it.rejected.as_deref().map(sentence),
            waits: it.waits.as_deref().map(sentence),
            comparisons,
        }
    }
}

/// An operator's form about the slot that the path names.
#[derive(Debug)]
pub struct SlotForm {
    pub dashboard: Dashboard,
    pub visitor: Visitor,
    pub form: Form,
    pub slot: SlotName,
    pub view: SlotStatus,
}

impl FromRequest<Dashboard> for SlotForm {
    type Rejection = Failure;

    async fn from_request(request: Request, dashboard: &Dashboard) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let slot = in_path(&mut parts, "slot").await?;
        let sent = Order::from_request(Request::from_parts(parts, body), dashboard).await?;
        let Order { visitor, form } = sent;
        let (slot, view) = find(dashboard, &slot).await?;
        Ok(Self { dashboard: dashboard.clone(), visitor, form, slot, view })
    }
}

impl SlotForm {
    pub fn page(&self) -> String {
        format!("/ops/plugins/{}", self.slot)
    }

    /// Gives an order about what the form's page has shown, writes it into the audit log as `action`, and goes to the slot's
    /// page, which says what was `done`.
    ///
    /// # Errors
    /// The order is refused.
    pub async fn give(
        &self,
        order: PluginOrder,
        (action, done): (&'static str, &str),
    ) -> Result<Response, OrderError> {
        let (slot, seen) = (self.slot.clone(), self.form.get("seen").to_owned());
        self.dashboard.api.plugins.order_on(slot, order, seen).await?;
        let what = (action, self.slot.to_string());
        record(&self.dashboard, &self.visitor, what, None).await;
        Ok(operating::done(&self.page(), done))
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
) -> Result<Response, Failure> {
    dashboard.api.plugins.refresh().await;
    let slots = dashboard.api.plugins.statuses().slots();
    page(&PluginsPage {
        slots: slots.iter().map(|(name, view)| SlotLine::of(name, view)).collect(),
        frame: Frame::of(&dashboard, &visitor, Place::OpsPlugins).await?,
    })
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path(slot): Path<String>,
    uri: Uri,
) -> Result<Response, Failure> {
    let mut shown = plugin_page(&dashboard, &visitor, &slot).await?;
    shown.frame.notice = match Form::of_query(uri.query()).get("done") {
        "activated" => Some("The component is active.".to_owned()),
        "rolled-back" => Some("The version before is active again.".to_owned()),
        "configured" => Some(
            "The settings are written, and are being proven. They are live when nothing stands against it.".to_owned(),
        ),
        "shadowed" => {
            Some("The next live calls go to the component that waits, too; its answers count for nothing.".to_owned())
        }
        "disabled" => {
            Some("The slot is switched off; a broader plugin takes its calls.".to_owned())
        }
        _ => None,
    };
    page(&shown)
}

async fn plugin_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    slot: &str,
) -> Result<PluginPage, Failure> {
    let (name, view) = find(dashboard, slot).await?;
    let now = dashboard.api.clock.now();
    let quarantined = view.quarantined.iter().map(|it| {
        let at = Timestamp::parse_rfc3339(&it.at).map(|at| When::of(at, now));
        (short(&it.digest), sentence(&it.reason), at)
    });
    let (lines, dropped) = dashboard.api.plugins.log_lines(&name, LOG_LINES);
    let is_waiting = view.candidate.as_ref().is_some_and(|it| it.waits.is_some());
    let orders = [
        (
            is_waiting || view.disabled || !view.quarantined.is_empty(),
            ("activate", "Activate…", "main"),
        ),
        (can_roll_back(&view), ("rollback", "Roll back…", "danger")),
        (view.standing() == Standing::Active && !view.is_builtin, ("disable", "Switch off…", "")),
    ];
    let orders = orders.into_iter().filter_map(|(may, order)| may.then_some(order)).collect();
    Ok(PluginPage {
        frame: Frame::of(dashboard, visitor, Place::OpsPlugins).await?,
        seen: view.mark(),
        fault: None,
        slot: SlotLine::of(&name, &view),
        active: ActiveView::of(&view, now),
        candidate: view.candidate.as_ref().map(CandidateView::of),
        previous: view.previous.as_ref().map(|it| PreviousView {
            digest: it.digest.as_deref().map_or_else(|| "the built-in one".to_owned(), short),
            settings: it.settings_revision,
            since: it.since.clone(),
        }),
        quarantined: quarantined.collect(),
        is_unsaved: view.is_unsaved,
        nodes: view.nodes.iter().map(NodeLine::of).collect(),
        orders,
        lines,
        dropped: counted_if_any(dropped, "line was", "lines were"),
    })
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path((slot, order)): Path<(String, String)>,
) -> Result<Response, Failure> {
    let wanted = Wanted::of(&order)?;
    let (name, _) = find(&dashboard, &slot).await?;
    visitor.step_up(&dashboard, &format!("/ops/plugins/{name}/{order}"))?;
    page(&order_page(&dashboard, &visitor, (&slot, wanted), None).await?)
}

pub async fn order(
    Path((_, order)): Path<(String, String)>,
    sent: SlotForm,
) -> Result<Response, Failure> {
    let wanted = Wanted::of(&order)?;
    let SlotForm { dashboard, visitor, slot, .. } = &sent;
    visitor.step_up_for(dashboard, &sent.form)?;
    let fault = match sent.give(wanted.order(), wanted.names()).await {
        Ok(done) => return Ok(done),
        Err(error) => refused(&error)?,
    };
    let again = order_page(dashboard, visitor, (slot.as_str(), wanted), Some(fault)).await?;
    with_status(StatusCode::CONFLICT, &again)
}

/// Why an order was refused, in words for the page that gave it.
///
/// # Errors
/// There is no such slot, or the server cannot carry out any order now.
pub fn refused(error: &OrderError) -> Result<String, Failure> {
    let words = sentence(&error.to_string());
    match error {
        OrderError::Unknown(_) => Err(Failure::Missing),
        OrderError::Write(_) | OrderError::ShuttingDown => Err(Failure::Unavailable(words)),
        OrderError::NothingToActivate(_)
        | OrderError::NothingBefore(_)
        | OrderError::BindingTaken(_)
        | OrderError::NothingToShadow(_)
        | OrderError::NothingToConfigure(_)
        | OrderError::Changed(_)
        | OrderError::SettingsBeingProven(_)
        | OrderError::NotLoaded(_)
        | OrderError::Settings(_)
        | OrderError::File(_) => Ok(words),
    }
}

/// Has the component that waits answer live calls beside the live one.
pub async fn shadow(sent: SlotForm) -> Result<Response, Failure> {
    sent.visitor.step_up_for(&sent.dashboard, &sent.form)?;
    let calls =
        sent.form.get("calls").trim().parse().ok().filter(|it| (1..=MAX_SHADOW).contains(it));
    let range = || Failure::Invalid(format!("The number of calls must be 1 to {MAX_SHADOW}."));
    let order = PluginOrder::Shadow { calls: calls.ok_or_else(range)? };
    let given = sent.give(order, ("shadow_plugin", "shadowed")).await;
    match given {
        Ok(done) => Ok(done),
        Err(error) => {
            let SlotForm { dashboard, visitor, slot, .. } = &sent;
            let mut again = plugin_page(dashboard, visitor, slot.as_str()).await?;
            again.fault = Some(refused(&error)?);
            with_status(StatusCode::CONFLICT, &again)
        }
    }
}

/// Whether something was there before what answers now.
fn can_roll_back(view: &SlotStatus) -> bool {
    view.previous.is_some() || !view.is_builtin
}

async fn order_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (slot, wanted): (&str, Wanted),
    fault: Option<String>,
) -> Result<OrderPage, Failure> {
    let (name, view) = find(dashboard, slot).await?;
    let line = SlotLine::of(&name, &view);
    let running = if line.plugin.is_empty() {
        "Nothing answers its calls now.".to_owned()
    } else {
        format!("Now {} ({}) answers its calls.", line.plugin, line.digest)
    };
    let is_possible = wanted != Wanted::RollBack || can_roll_back(&view);
    let (title, then, button) = match wanted {
        Wanted::Activate => {
            let candidate = view.candidate.as_ref().map(CandidateView::of);
            let then = candidate.map_or_else(
                || "What was switched off, or is in quarantine, is used again.".to_owned(),
                |it| format!("With the next call {} ({}) answers.", it.name, it.digest),
            );
            (format!("Activate what waits in {name}?"), then, "Activate")
        }
        Wanted::RollBack if !is_possible => {
            (format!("Roll {name} back?"), NOTHING_BEFORE.to_owned(), "Roll back")
        }
        Wanted::RollBack => {
            let before = view.previous.as_ref().and_then(|it| it.digest.as_deref()).map(short);
            let before = before.unwrap_or_else(|| "the built-in plugin".to_owned());
            let then = format!(
                "With the next call {before} answers. What runs now goes into quarantine, and does not come back by \
                 itself."
            );
            (format!("Roll {name} back?"), then, "Roll back")
        }
        Wanted::Disable => {
            let then =
                "With the next call a broader plugin, or the built-in one, answers.".to_owned();
            (format!("Switch {name} off?"), then, "Switch off")
        }
    };
    Ok(OrderPage {
        frame: Frame::of(dashboard, visitor, Place::OpsPlugins).await?,
        slot: name.as_str().to_owned(),
        title,
        about: vec![running, then],
        button,
        is_possible,
        is_danger: wanted != Wanted::Activate,
        seen: view.mark(),
        fault,
    })
}

/// The settings of a plugin beside what its own schema says of each.
fn settings(settings: &Value, schema: &str) -> Vec<SettingLine> {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let known = schema["properties"].as_object();
    let described = known.into_iter().flatten().map(|(name, about)| {
        let own = settings.get(name).filter(|it| !it.is_null());
        SettingLine {
            name: name.clone(),
            value: own.or(about.get("default")).map(shown).unwrap_or_default(),
            is_default: own.is_none(),
            about: about["description"].as_str().unwrap_or_default().to_owned(),
        }
    });
    let is_known = |name: &String| known.is_some_and(|it| it.contains_key(name));
    let others = settings.as_object().into_iter().flatten().filter(|(name, _)| !is_known(name));
    let others = others.map(|(name, value)| SettingLine {
        name: name.clone(),
        value: shown(value),
        is_default: false,
        about: String::new(),
    });
    described.chain(others).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_)) => other.to_string(),
        other @ (Value::Array(_) | Value::Object(_)) => {
            serde_json::to_string_pretty(other).unwrap_or_default()
        }
    }
}

/// What one call takes, on average.
fn micros(plugin: &InstalledPlugin) -> String {
    let cpu = plugin.cpu(CallPurpose::Service).as_micros();
    let calls = u128::from(plugin.stats().calls());
    let each = cpu.checked_div(calls).and_then(|it| i64::try_from(it).ok());
    each.map_or_else(String::new, number)
}

fn count(number_of: u64) -> String {
    number(i64::try_from(number_of).unwrap_or(i64::MAX))
}
