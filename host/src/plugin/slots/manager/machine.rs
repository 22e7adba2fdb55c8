//! One slot: what runs, what ran before, what is on its way; and the moves between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::AbortHandle;
use tokio::sync::Notify;

use crate::plugin::config::slot::{Activation, ImpactRule, SlotName};
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::{Report, Shadow};
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::files::Stamp;
use crate::plugin::slots::rollback::TrapWindow;
use crate::plugin::slots::state::{Quarantined, SlotState, Stored};
use crate::plugin::slots::status::{CandidateStatus, SlotStatus};

/// A slot's machine. What of it must survive a restart is its `state`.
#[expect(clippy::struct_excessive_bools, reason = "each says a thing of its own")]
#[derive(Debug)]
pub struct Machine {
    /// Its name.
    pub slot: SlotName,
    /// What survives a restart.
    pub state: SlotState,
    /// What answers its calls.
    pub active: Option<Live>,
    /// What a rollback brings back.
    pub previous: Option<Live>,
    /// What is proven and not live yet.
    pub pending: Option<Pending>,
    /// Shown of a candidate that came no further.
    pub rejected: Option<CandidateStatus>,
    /// What the files looked like when they were last read.
    pub stamp: Option<Stamp>,
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
    /// The generation.
    pub validated: InstalledPlugin,
    /// What it takes to make it again.
    pub stored: Stored,
    /// What came of its calls in the shadow, where it had some.
    pub shadow: Option<Report>,
}

/// A generation that is proven and not live yet.
#[derive(Debug)]
pub struct Pending {
    pub live: Live,
    pub impact: Impact,
    pub shadow: Option<Arc<Shadow>>,
    pub activation: Activation,
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

    /// It begins.
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
    /// Nobody waits.
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

    /// The candidate becomes live; what ran stays as the previous one.
    /// A slot that is switched on again gets the same once more, and keeps what was before it.
    pub fn activate(&mut self, live: Live) {
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

    /// The files of a candidate are gone.
    pub fn leave(&mut self) {
        self.settle();
    }

    /// The slot's files are gone.
    pub fn clear(&mut self) {
        self.previous = self.active.take();
        self.settle();
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

    /// What the board shows; `builtin` runs where nothing else does.
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
