//! One slot: what runs, what ran before, what is on its way; and the moves between them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::AbortHandle;
use tokio::sync::Notify;

use crate::plugin::config::binding::Binding;
use crate::plugin::config::slot::{Activation, ImpactRule, SlotName};
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::{Report, Shadow, ShadowCalls};
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::files::Stamp;
use crate::plugin::slots::rollback::TrapWindow;
use crate::plugin::slots::state::{Quarantined, Revision, SlotState, Stored};
use crate::plugin::slots::status::{CandidateStatus, SlotStatus};

/// A slot's machine. What of it must survive a restart is its `state`.
#[expect(clippy::struct_excessive_bools, reason = "each says a thing of its own")]
#[derive(Debug)]
pub struct Machine {
    pub slot: SlotName,
    /// What survives a restart.
    pub state: SlotState,
    /// What answers its calls.
    pub active: Option<Live>,
    /// What a rollback brings back.
    pub previous: Option<Live>,
    /// What is validated and not live yet.
    pub pending: Option<Pending>,
    /// Shown of a candidate that came no further.
    pub rejected: Option<CandidateStatus>,
    /// What the files looked like when they were last read.
    pub stamp: Option<Stamp>,
    /// Whether its state is to be written.
    pub must_save: bool,
    /// Whether its status is to be shown once its state was written.
    pub must_show: bool,
    /// Whether its state could not be written.
    pub is_unsaved: bool,
    /// Whether the directory was looked at since the start.
    pub looked_at: bool,
    /// The number of the newest work; older work sees that it is superseded.
    pub newest: Arc<AtomicU64>,
    /// Ends the newest examination, with the child that compiles for it.
    pub running: Option<AbortHandle>,
    /// Whether the newest examination still waits for its files to stand still.
    pub settling: Arc<Settling>,
    /// The traps of what is live.
    pub window: TrapWindow,
    /// Whether the operator wants what is looked at now to be live, whatever would change.
    pub is_wanted: bool,
    /// Whether it was refused because another slot answers the calls of its binding.
    pub is_in_the_way: bool,
}

/// An examination that waits for its files to stand still hears of changes meanwhile; one that
/// has read them does not, and a change begins another.
#[derive(Debug)]
pub struct Settling {
    changes: AtomicU64,
    changed: Notify,
}

/// A generation that runs or ran.
#[derive(Debug, Clone)]
pub struct Live {
    pub validated: InstalledPlugin,
    /// What it takes to make it again.
    pub stored: Stored,
    /// What came of its calls in the shadow, where it had some.
    pub shadow: Option<Report>,
}

/// A generation that is validated and not live yet.
#[derive(Debug)]
pub struct Pending {
    pub live: Live,
    pub impact: Impact,
    pub shadow: Option<Arc<Shadow>>,
    pub activation: Activation,
}

/// What is to be done with a validated candidate.
#[derive(Debug)]
pub enum Proposal {
    /// The operator asked for it: it becomes live.
    Activate(Box<Live>),
    /// It gets live calls first.
    Shadow { calls: u32 },
    /// [`Machine::decide`] says whether it becomes live.
    Decide,
}

/// Whether a candidate becomes live by itself.
#[derive(Debug)]
pub enum Decision {
    Activate(Box<Live>),
    /// The operator decides.
    Wait {
        would_change: u32,
        reason: String,
    },
}

/// What it means for a slot that its files are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesGone {
    /// What is live is not of these files.
    ActiveStays,
    ActiveRemoved,
    NothingActive,
}

/// The machines of all slots. None is ever taken out, so that a slot cannot vanish under work that was
/// begun for it.
#[derive(Debug)]
pub struct Machines(BTreeMap<SlotName, Machine>);

impl Machines {
    pub fn new(machines: BTreeMap<SlotName, Machine>) -> Self {
        Self(machines)
    }

    /// The machine of a slot; an empty one where nothing was ever heard of the slot.
    pub fn of(&mut self, slot: &SlotName) -> &mut Machine {
        let new = || Machine::new(slot.clone(), SlotState::default());
        self.0.entry(slot.clone()).or_insert_with(new)
    }

    /// Whether the slot was heard of.
    pub fn has(&self, slot: &SlotName) -> bool {
        self.0.contains_key(slot)
    }

    pub fn slots(&self) -> Vec<SlotName> {
        self.0.keys().cloned().collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Machine> {
        self.0.values()
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Machine> {
        self.0.values_mut()
    }

    /// Refuses a plugin whose binding another slot has.
    pub fn check_binding(&self, plugin: &InstalledPlugin) -> Result<(), LoadError> {
        let binding = &plugin.config().binding;
        let other = self.all().filter_map(Machine::serving).find(|other| {
            other.kind() == plugin.kind()
                && other.config().binding == *binding
                && other.slot() != plugin.slot()
        });
        match other {
            Some(other) => {
                Err(LoadError::Taken { other: other.slot().clone(), binding: binding.clone() })
            }
            None if *binding == Binding::Server && plugin.slot().builtin_kind().is_none() => {
                let other = plugin.kind().builtin_slot();
                Err(LoadError::Taken { other, binding: Binding::Server })
            }
            None => Ok(()),
        }
    }

    /// The binding that a slot could not have may be free now: its files are examined again, as if
    /// they had changed.
    pub fn binding_may_be_free(&mut self) {
        for machine in self.all_mut().filter(|it| it.is_in_the_way) {
            machine.is_in_the_way = false;
            machine.stamp = Some(Stamp::default());
        }
    }
}

impl Pending {
    /// It becomes live; what was seen in the shadow is kept.
    #[must_use]
    pub fn into_live(self) -> Live {
        let shadow = self.shadow.map(|it| it.report());
        Live { shadow, ..self.live }
    }

    /// Why it does not become live by itself, if it does not.
    #[must_use]
    pub fn waits_because(&self) -> Option<String> {
        let shadow = self.shadow.as_ref().map(|it| it.report()).unwrap_or_default();
        let changes = self.impact.would_change + shadow.different;
        let counted = |number: u32, what: &str| (number > 0).then(|| format!("{number} {what}"));
        let worse = [
            counted(self.impact.templates.failed, "published templates would not render as now"),
            counted(self.impact.would_fail, "recorded calls would not be served as now"),
            counted(shadow.failed, "calls in the shadow were not served as by the live plugin"),
        ];
        let worse = worse.into_iter().flatten().collect::<Vec<_>>().join("; ");
        match self.activation.impact {
            ImpactRule::Ask => Some("its slot asks before each change".to_owned()),
            // Other answers are what a new policy is for; a send that is served worse is a defect.
            _ if !worse.is_empty() => Some(worse),
            // A stricter policy refuses some sends; one that refuses all of them is a mistake, most often.
            ImpactRule::Auto if self.impact.refuses_all() => {
                let pass = self.impact.pass;
                Some(format!("all {pass} recorded calls that pass now would be refused"))
            }
            ImpactRule::Auto if shadow.differs_always() => {
                Some(format!("all {} calls in the shadow were answered otherwise", shadow.compared))
            }
            ImpactRule::UpTo(most) if changes > most => {
                Some(format!("{changes} answers would change, and {most} may"))
            }
            ImpactRule::Auto | ImpactRule::UpTo(_) => None,
        }
    }
}

impl Settling {
    const OVER: u64 = u64::MAX;

    #[must_use]
    pub fn begun() -> Self {
        Self { changes: AtomicU64::new(0), changed: Notify::new() }
    }

    /// Says that the files changed; answers whether somebody still waits for them.
    #[must_use]
    pub fn hears_of_a_change(&self) -> bool {
        let one_more = |changes| (changes != Self::OVER).then(|| changes + 1);
        let heard = self.changes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).is_ok();
        self.changed.notify_one();
        heard
    }

    /// The changes so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Waits for the next change.
    pub async fn change(&self) {
        self.changed.notified().await;
    }

    /// Ends it, if there was no change since there were so many.
    #[must_use]
    pub fn ends_at(&self, changes: u64) -> bool {
        let order = Ordering::SeqCst;
        self.changes.compare_exchange(changes, Self::OVER, order, order).is_ok()
    }
}

impl Default for Settling {
    fn default() -> Self {
        Self { changes: AtomicU64::new(Self::OVER), changed: Notify::new() }
    }
}

impl Machine {
    /// A machine in which nothing runs yet.
    #[must_use]
    pub fn new(slot: SlotName, state: SlotState) -> Self {
        Self {
            slot,
            state,
            active: None,
            previous: None,
            pending: None,
            rejected: None,
            stamp: None,
            must_save: false,
            must_show: false,
            is_unsaved: false,
            looked_at: false,
            newest: Arc::default(),
            running: None,
            settling: Arc::default(),
            window: TrapWindow::default(),
            is_wanted: false,
            is_in_the_way: false,
        }
    }

    /// Begins new work; what was begun before it is superseded and ends.
    pub fn begin(&mut self) -> u64 {
        if let Some(running) = self.running.take() {
            running.abort();
        }
        self.settling = Arc::default();
        self.newest.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether work of that number is still the newest.
    #[must_use]
    pub fn is_newest(&self, work: u64) -> bool {
        self.newest.load(Ordering::SeqCst) == work
    }

    /// What answers its calls.
    #[must_use]
    pub fn serving(&self) -> Option<&InstalledPlugin> {
        if self.state.disabled { None } else { self.active.as_ref().map(|it| &it.validated) }
    }

    /// Whether files that look so have to be examined. An examination that waits for its files to
    /// stand still hears of a change, and no other begins.
    pub fn must_examine(&mut self, stamp: Option<&Stamp>) -> bool {
        // At the first scan nothing is known of the files yet; where there are none, there is
        // something to do only if something of them runs.
        let is_first = !std::mem::replace(&mut self.looked_at, true);
        if self.stamp.as_ref() == stamp && !(is_first && self.active.is_some()) {
            return false;
        }
        self.forget_activation();
        let is_heard = self.settling.hears_of_a_change();
        if is_heard {
            self.stamp = stamp.cloned();
        }
        !is_heard
    }

    /// Begins to examine files that look so; answers the number of that work.
    pub fn begin_examination(&mut self, stamp: Option<Stamp>) -> u64 {
        self.stamp = stamp;
        let number = self.begin();
        self.settling = Arc::new(Settling::begun());
        number
    }

    /// The files were read, whatever comes of it.
    pub fn files_were_read(&mut self, settings: Vec<Revision>, digest: Option<String>) {
        self.state.settings = settings;
        self.state.file = digest;
    }

    /// A validated candidate waits in the slot, unless the operator wants it to be live at once.
    pub fn propose(&mut self, live: Live, impact: Impact) -> Proposal {
        if std::mem::take(&mut self.is_wanted) {
            return Proposal::Activate(Box::new(live));
        }
        let digest = &live.validated.identity().digest;
        let asked = self.state.asked.as_ref().filter(|it| it.digest == *digest);
        let activation = asked.map_or(live.validated.config().activation, |it| it.activation);
        self.rejected = None;
        self.pending = Some(Pending { live, impact, shadow: None, activation });
        match activation.shadow_calls {
            0 => Proposal::Decide,
            calls => Proposal::Shadow { calls },
        }
    }

    /// Puts the candidate that waits into the shadow; answers the number of that work, and the end
    /// that makes the calls.
    pub fn begin_shadow(&mut self, calls: u32) -> Option<(u64, ShadowCalls)> {
        let pending = self.pending.as_mut()?;
        let (shadow, rest) = Shadow::new(pending.live.validated.clone(), calls);
        pending.shadow = Some(shadow);
        Some((self.begin(), rest))
    }

    /// Whether the candidate that waits becomes live by itself, if one waits.
    pub fn decide(&mut self) -> Option<Decision> {
        let pending = self.pending.take()?;
        let reason = pending.waits_because();
        if reason.is_none() && !self.state.disabled {
            return Some(Decision::Activate(Box::new(pending.into_live())));
        }
        let would_change = pending.impact.would_change;
        self.pending = Some(pending);
        Some(Decision::Wait { would_change, reason: reason.unwrap_or_default() })
    }

    /// The candidate came no further.
    pub fn reject(&mut self, shown: CandidateStatus, is_in_the_way: bool) {
        self.pending = None;
        self.forget_activation();
        self.is_in_the_way = is_in_the_way;
        self.rejected = Some(shown);
    }

    /// The files are again those of what runs.
    pub fn drop_candidate(&mut self) {
        self.rejected = None;
        self.pending = None;
    }

    /// The operator switches the slot off.
    pub fn disable(&mut self) {
        self.begin();
        self.pending = None;
        self.state.disabled = true;
    }

    /// Whether the operator can activate something that does not wait: what was rejected, rolled back
    /// or switched off.
    #[must_use]
    pub fn can_be_activated(&self) -> bool {
        self.state.disabled || self.rejected.is_some() || !self.state.quarantined.is_empty()
    }

    /// Whether there is nothing to show of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let runs = self.active.is_some() || self.pending.is_some();
        !runs && self.rejected.is_none() && self.stamp.is_none()
    }

    /// Whether that is what answers its calls.
    #[must_use]
    pub fn serves(&self, plugin: &InstalledPlugin) -> bool {
        self.serving().is_some_and(|active| active.identity() == plugin.identity())
    }

    /// The candidate becomes live; what ran stays as the previous one.
    /// A slot that is switched on again gets the same once more, and keeps what was before it.
    pub fn activate(&mut self, live: Live) {
        let identity = live.validated.identity();
        self.state.forgive(&identity.digest, identity.settings_revision);
        let is_same = |it: &Live| {
            it.stored.digest == live.stored.digest && it.stored.config == live.stored.config
        };
        if !self.active.as_ref().is_some_and(is_same) {
            self.previous = self.active.take();
        }
        self.active = Some(live);
        self.state.disabled = false;
        self.settle();
    }

    /// The operator's word to activate was for the files that they saw.
    pub fn forget_activation(&mut self) {
        self.is_wanted = false;
    }

    /// What ran before comes back; answers what was live.
    pub fn roll_back(&mut self, reason: &str, at: &str) -> Option<Live> {
        let gone = self.active.take()?;
        self.active = self.previous.take();
        let identity = gone.validated.identity();
        let only_settings = self
            .active
            .as_ref()
            .is_some_and(|it| it.validated.identity().digest == identity.digest);
        self.state.quarantine(Quarantined {
            digest: identity.digest.clone(),
            settings_revision: only_settings.then_some(identity.settings_revision),
            reason: reason.to_owned(),
            at: at.to_owned(),
        });
        self.settle();
        Some(gone)
    }

    /// What came from the files goes with them. What a rollback brought back did not: it stays,
    /// until the operator switches the slot off or gives it a file.
    pub fn files_are_gone(&mut self) -> FilesGone {
        let gone = match &self.active {
            Some(active) if active.stored.digest != self.state.file => FilesGone::ActiveStays,
            Some(_) => FilesGone::ActiveRemoved,
            None => FilesGone::NothingActive,
        };
        if gone != FilesGone::ActiveStays {
            self.previous = self.active.take();
        }
        self.settle();
        gone
    }

    fn settle(&mut self) {
        self.pending = None;
        self.rejected = None;
        self.is_wanted = false;
        self.state.asked = None;
        self.window = TrapWindow::default();
        self.state.active = self.active.as_ref().map(|it| it.stored.clone());
        self.state.previous = self.previous.as_ref().map(|it| it.stored.clone());
    }

    /// The slot's status; `builtin` runs where nothing else does.
    #[must_use]
    pub fn view(&self, builtin: Option<&InstalledPlugin>) -> SlotStatus {
        let active = self.serving().or(builtin).cloned();
        SlotStatus {
            is_builtin: active.is_some() && self.serving().is_none(),
            since: self.serving().and(self.active.as_ref()).map(|it| it.stored.since.clone()),
            shadow: self.serving().and(self.active.as_ref()).and_then(|it| it.shadow.clone()),
            active,
            previous: self.state.previous.clone(),
            disabled: self.state.disabled,
            candidate: self.candidate_status(),
            quarantined: self.state.quarantined.clone(),
            is_unsaved: self.is_unsaved,
        }
    }

    fn candidate_status(&self) -> Option<CandidateStatus> {
        let Some(pending) = &self.pending else { return self.rejected.clone() };
        let identity = pending.live.validated.identity();
        Some(CandidateStatus {
            digest: Some(identity.digest.clone()),
            name: Some(format!("{} {}", identity.name, identity.version)),
            stage: match &pending.shadow {
                Some(shadow) if !shadow.is_done() => Stage::Shadow,
                Some(_) | None => Stage::Waiting,
            },
            rejected: None,
            waits: pending.waits_because(),
            impact: Some(pending.impact.clone()),
            shadow: pending.shadow.clone(),
        })
    }
}
