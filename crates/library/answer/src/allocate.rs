//! Which level does each transaction need, so that any number of them stays serializable? What is in the way of a weaker one
//! is shown as a run of the program, which the level allows and which is not serializable, by `check`, certified; that
//! nothing is in the way is certified by code of the kernel that has no part in the search.

mod confirm;
mod execute;
mod instantiate;

use crate::{Certification, Certified, WrongEvidence};
use confirm::{Trouble, confirm};
use iso_allocate::{Danger, Edges, danger, dangers, promotions};
use iso_evidence::{Budget, Note, Stage, StopReason};
use iso_program::{NotRobust, Span, Templates, TxnLevel, check_robust};

pub use confirm::{BadRun, SavedSetup, SplitRun};
pub use iso_allocate::{Edge, Member, RowValue};

/// How many split runs are tried with values.
const MAX_CANDIDATES: usize = 24;

/// The answer for all transactions of a program.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// By transaction, in the order of the text.
    pub transactions: Vec<Transaction>,
    /// By level that was asked for: are all transactions together robust at it? Nothing if that is not known.
    pub robust: Vec<(TxnLevel, Option<bool>)>,
    /// Whether the levels were found to be enough by the kernel, too.
    pub certification: Certification,
}

/// What one transaction needs.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// The weakest level that is enough; nothing if none of those that were asked for is.
    pub level: Option<TxnLevel>,
    /// Weaker levels, and why they are not enough.
    pub blocked: Vec<Blocked>,
}

/// Why a level is not enough for a transaction.
#[derive(Clone, Debug)]
pub struct Blocked {
    /// The level.
    pub level: TxnLevel,
    /// The transactions of the run, by place; the first is split.
    pub members: Vec<usize>,
    /// The cycle between them.
    pub danger: Danger,
    /// The run with values, if some were found with which the program does it.
    pub run: Option<Box<Certified<BadRun>>>,
    /// Reads that make the level enough if they lock what they read; nothing if none do.
    pub promotions: Option<Vec<Span>>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAllocation {
    /// A limit was reached first.
    Stopped(StopReason),
    /// Evidence was wrong: a bug.
    Refused(WrongEvidence),
}

impl From<StopReason> for NoAllocation {
    fn from(reason: StopReason) -> Self {
        Self::Stopped(reason)
    }
}

/// Finds the weakest levels, among those of the ladder from weak to strong, with which every run of any number of the
/// transactions is serializable.
///
/// ```
/// use iso_answer::allocate::allocate;
/// use iso_evidence::Budget;
/// use iso_program::{Templates, TxnLevel};
/// let text = "table t(id) { n: int }\ntxn add(k) { t[k].n += 1 }\ntxn double(k) { t[k].n = t[k].n + t[k].n }\n";
/// let templates = Templates::parse(text, "t.txn").unwrap();
/// let ladder = [TxnLevel::ReadCommitted, TxnLevel::RepeatableRead, TxnLevel::Serializable];
/// let answer = allocate(&templates, &ladder, &Budget::unlimited()).unwrap();
/// assert_eq!(answer.transactions[0].level, Some(TxnLevel::ReadCommitted));
/// assert_eq!(answer.transactions[1].level, Some(TxnLevel::RepeatableRead));
/// assert!(answer.transactions[1].blocked[0].run.is_some(), "something is added between read and write");
/// ```
pub fn allocate(templates: &Templates, ladder: &[TxnLevel], budget: &Budget<'_>) -> Result<Allocated, NoAllocation> {
    let found = iso_allocate::allocate(templates, ladder, budget)?;
    let mut transactions = Vec::new();
    let n_templates = templates.templates().len();
    for (idx, template) in templates.templates().iter().enumerate() {
        budget.note(Note::Begins(Stage::Explanation));
        budget.note(Note::Reached { n_done: idx, of: n_templates });
        let mut blocked = Vec::new();
        for (level, danger) in &found.blocked[idx] {
            blocked.push(explain(templates, idx, *level, danger, budget)?);
        }
        transactions.push(Transaction { name: template.name.clone(), level: found.levels[idx], blocked });
    }
    budget.note(Note::Reached { n_done: n_templates, of: n_templates });
    let robust = ladder.iter().map(|level| (*level, robust_at(*level, &transactions))).collect::<Vec<_>>();
    let mut answer = Allocated { transactions, robust, certification: Certification::Certified };
    answer.fill_in(templates, budget)?;
    answer.certification = certification(templates, &found.levels)?;
    for (level, _) in answer.robust.iter().filter(|it| it.1 == Some(true)) {
        certification(templates, &vec![Some(*level); found.levels.len()])?;
    }
    Ok(answer)
}

/// Is the whole robust at a level, as far as the ladder has shown?
fn robust_at(level: TxnLevel, transactions: &[Transaction]) -> Option<bool> {
    if level == TxnLevel::Serializable {
        return Some(true);
    }
    let bad = transactions.iter().flat_map(|it| &it.blocked).filter(|it| it.level == level);
    let (mut n_bad, mut is_shown) = (0, false);
    for blocked in bad {
        n_bad += 1;
        is_shown |= blocked.run.is_some();
    }
    if is_shown {
        return Some(false);
    }
    let is_decided = |it: &Transaction| it.level == Some(level);
    (n_bad == 0 && transactions.iter().all(is_decided)).then_some(true)
}

impl Allocated {
    /// A transaction that is fine at a weaker level was not asked about the stronger ones; where it matters for
    /// [`Allocated::robust`], it is now.
    fn fill_in(&mut self, templates: &Templates, budget: &Budget<'_>) -> Result<(), NoAllocation> {
        let n_templates = templates.templates().len();
        for (level, robust) in &mut self.robust {
            if robust.is_some() {
                continue;
            }
            let mut is_open = false;
            for template in 0..n_templates {
                let levels = vec![*level; n_templates];
                let Some(found) = danger(templates, &levels, template, Edges::AndLocks, budget)? else { continue };
                is_open = true;
                if explain(templates, template, *level, &found, budget)?.run.is_some() {
                    *robust = Some(false);
                    break;
                }
            }
            if !is_open {
                *robust = Some(true);
            }
        }
        Ok(())
    }
}

/// The run that is in the way of a level, and what would help.
fn explain(
    templates: &Templates,
    template: usize,
    level: TxnLevel,
    found: &Danger,
    budget: &Budget<'_>,
) -> Result<Blocked, NoAllocation> {
    let trouble = |it: Trouble| match it {
        Trouble::Stopped(reason) => NoAllocation::Stopped(reason),
        Trouble::Wrong(wrong) => NoAllocation::Refused(wrong),
    };
    let split = found.members[0].template;
    let run_level = if split == template { level } else { TxnLevel::Serializable };
    // Only what is read and written shows in a history, so runs by these edges are looked for.
    let mut candidates = vec![found.clone()];
    if split == template {
        let levels = vec![level; templates.templates().len()];
        let by_data = dangers(templates, &levels, template, Edges::Data, budget)?;
        candidates = if by_data.is_empty() { candidates } else { by_data };
    }
    candidates.truncate(MAX_CANDIDATES);
    let mut run = None;
    let mut danger_shown = candidates[0].clone();
    for candidate in candidates {
        run = confirm(templates, &candidate, run_level, budget).map_err(trouble)?;
        if run.is_some() {
            danger_shown = candidate;
            break;
        }
    }
    let promotions = if split == template { promotions(templates, template, level, budget)? } else { None };
    Ok(Blocked {
        level,
        members: danger_shown.members.iter().map(|it| it.template).collect(),
        danger: danger_shown,
        run: run.map(Box::new),
        promotions,
    })
}

/// Are the levels enough by the kernel, too? Only if all transactions have one.
fn certification(templates: &Templates, levels: &[Option<TxnLevel>]) -> Result<Certification, NoAllocation> {
    let Some(levels) = levels.iter().copied().collect::<Option<Vec<TxnLevel>>>() else {
        return Ok(Certification::Certified);
    };
    match check_robust(templates.text(), &levels) {
        Ok(_) => Ok(Certification::Certified),
        Err(NotRobust::TooLarge) => {
            let why =
                "that these levels are enough rests on the search itself, as there are too many statements to check"
                    .to_owned();
            Ok(Certification::NotCertified { why })
        }
        Err(NotRobust::Split { template, line }) => {
            let why = format!("{template} can be split after line {line}");
            Err(NoAllocation::Refused(WrongEvidence::new(&"the allocation", &why)))
        }
    }
}
