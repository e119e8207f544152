//! Wikipedia: pages that users read, watch and edit.
//!
//! Source: the Wikipedia benchmark of OLTP-Bench (Difallah, Pavlo, Curino & Cudré-Mauroux 2013), with two users and two
//! pages. We differ: an edit is more frequent than there, so that short runs have some, and it says which revision it
//! changes.

use crate::{Application, Assertion, Client, Failure, Random, Record, Row, Slot, Transaction};
use std::collections::BTreeMap;
use std::fmt;

const USERS: usize = 2;
const PAGES: usize = 2;

/// The encyclopedia.
#[derive(Debug)]
pub(super) struct Wikipedia;

#[derive(Clone, Copy, Debug)]
enum Kind {
    AddWatch,
    RemoveWatch,
    UpdatePage,
    GetPageAnonymous,
    GetPageAuthenticated,
}

const MIX: [(usize, Kind); 5] = [
    (6, Kind::AddWatch),
    (6, Kind::RemoveWatch),
    (18, Kind::UpdatePage),
    (50, Kind::GetPageAnonymous),
    (20, Kind::GetPageAuthenticated),
];

#[derive(Debug)]
enum Call {
    AddWatch { user: usize, page: usize },
    RemoveWatch { user: usize, page: usize },
    UpdatePage { user: usize, page: usize, edit: Slot },
    GetPageAnonymous { page: usize },
    GetPageAuthenticated { user: usize, page: usize },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddWatch { user, page } => write!(f, "AddWatch({user},{page})"),
            Self::RemoveWatch { user, page } => write!(f, "RemoveWatch({user},{page})"),
            Self::UpdatePage { user, page, .. } => write!(f, "UpdatePage({user},{page})"),
            Self::GetPageAnonymous { page } => write!(f, "GetPageAnonymous({page})"),
            Self::GetPageAuthenticated { user, page } => write!(f, "GetPageAuthenticated({user},{page})"),
        }
    }
}

impl Transaction for Call {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self {
            Self::AddWatch { user, page } => {
                if client.find("watch", watch_key(*user, *page))?.is_none() {
                    client.add("watch", watch_key(*user, *page), Record::new().with("notified", "none"))?;
                }
                touch(client, *user, 0)
            }
            Self::RemoveWatch { user, page } => {
                if client.find("watch", watch_key(*user, *page))?.is_some() {
                    client.remove("watch", watch_key(*user, *page))?;
                }
                touch(client, *user, 0)
            }
            Self::UpdatePage { user, page, edit } => update_page(client, *user, *page, *edit),
            Self::GetPageAnonymous { page } => get_page(client, *page).map(|_| ()),
            Self::GetPageAuthenticated { user, page } => {
                client.record("user", user)?;
                get_page(client, *page).map(|_| ())
            }
        }
    }
}

fn watch_key(user: usize, page: usize) -> String {
    format!("{page}.{user}")
}

/// The user was here, and made so many edits.
fn touch(client: &mut dyn Client, user: usize, n_edits: i64) -> Result<(), Failure> {
    let row = client.record("user", user)?;
    client.change_from("user", user, row, |it| {
        it.add("edits", n_edits)?;
        it.add("touched", 1)
    })?;
    Ok(())
}

/// A page and its latest revision. Who finds no text sees an error page.
fn get_page(client: &mut dyn Client, page: usize) -> Result<(Record, Record), Failure> {
    let row = client.record("page", page)?;
    let revision = client.record("revision", row.word("latest")?)?;
    Ok((row, revision))
}

fn update_page(client: &mut dyn Client, user: usize, page: usize, edit: Slot) -> Result<(), Failure> {
    let (row, _) = get_page(client, page)?;
    let parent = row.word("latest")?.to_owned();
    let revision = edit.to_string();
    let made = Record::new().with("page", page).with("user", user).with("parent", parent.clone());
    client.add("revision", &revision, made)?;
    client.change_from("page", page, row, |it| {
        it.set("latest", revision.clone());
        it.add("edits", 1)
    })?;
    let change = Record::new().with("page", page).with("user", user);
    client.add("recent-changes", &revision, change.clone().with("old", parent))?;
    for (watch, mut row) in client.records("watch", format!("{page}."))? {
        if watch != watch_key(user, page) && row.word("notified")? == "none" {
            row.set("notified", revision.clone());
            client.write("watch", watch, row)?;
        }
    }
    client.add("log", &revision, change)?;
    touch(client, user, 1)
}

impl Application for Wikipedia {
    fn name(&self) -> &'static str {
        "wikipedia"
    }

    fn about(&self) -> &'static str {
        "an encyclopedia whose users read, watch and edit pages; edits are counted and follow each other"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["log", "page", "recent-changes", "revision", "user", "watch"]
    }

    fn rows(&self) -> Vec<Row> {
        let users = (1..=USERS).map(|it| Row::new("user", it, Record::new().with("edits", 0).with("touched", 0)));
        let pages = (1..=PAGES).flat_map(|page| {
            let first = format!("p{page}");
            let revision = Record::new().with("page", page).with("user", "nobody").with("parent", "none");
            [
                Row::new("page", page, Record::new().with("latest", first.clone()).with("edits", 0)),
                Row::new("revision", first, revision),
            ]
        });
        users.chain(pages).collect()
    }

    fn transaction(&self, slot: Slot, random: &mut Random) -> Box<dyn Transaction> {
        let kind = random.weighted(&MIX);
        let (user, page) = (random.one_to(USERS), random.one_to(PAGES));
        Box::new(match kind {
            Kind::AddWatch => Call::AddWatch { user, page },
            Kind::RemoveWatch => Call::RemoveWatch { user, page },
            Kind::UpdatePage => Call::UpdatePage { user, page, edit: slot },
            Kind::GetPageAnonymous => Call::GetPageAnonymous { page },
            Kind::GetPageAuthenticated => Call::GetPageAuthenticated { user, page },
        })
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let revisions = state.records("revision", "")?;
        let made: Vec<&(String, Record)> = revisions.iter().filter(|it| it.1.int("user").is_ok()).collect();
        Ok(vec![
            Assertion::none_of("users have as many edits as revisions", &miscounted(state, "user", USERS, &made)?),
            Assertion::none_of("pages have as many edits as revisions", &miscounted(state, "page", PAGES, &made)?),
            Assertion::none_of("revisions follow each other", &forks(&made)?),
            Assertion::none_of("the latest revision of a page is its last one", &lost(state, &revisions)?),
            Assertion::none_of("recent changes and log have each edit", &unlisted(state, &made)?),
        ])
    }
}

/// The rows of a table whose number of edits is not that of the revisions that name them.
fn miscounted(
    state: &mut dyn Client,
    table: &str,
    n_rows: usize,
    made: &[&(String, Record)],
) -> Result<Vec<String>, Failure> {
    let mut wrong = Vec::new();
    for row in 1..=n_rows {
        let counted = state.record(table, row)?.int("edits")?;
        let n_made = made.iter().filter(|it| it.1.int(table) == Ok(row as i64)).count() as i64;
        if counted != n_made {
            wrong.push(format!("{table} {row} has {counted} edits, and {n_made} revisions"));
        }
    }
    Ok(wrong)
}

/// Revisions that two edits changed, one of which is lost.
fn forks(made: &[&(String, Record)]) -> Result<Vec<String>, Failure> {
    let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (revision, row) in made {
        children.entry(row.word("parent")?).or_default().push(revision);
    }
    let forked = children.into_iter().filter(|it| it.1.len() > 1);
    Ok(forked.map(|(parent, edits)| format!("{} all changed {parent}", edits.join(" and "))).collect())
}

/// Pages whose latest revision is missing, is of another page, or was changed by a later one.
fn lost(state: &mut dyn Client, revisions: &[(String, Record)]) -> Result<Vec<String>, Failure> {
    let mut wrong = Vec::new();
    for page in 1..=PAGES {
        let row = state.record("page", page)?;
        let latest = row.word("latest")?;
        let own = revisions.iter().find(|it| it.0 == latest && it.1.int("page") == Ok(page as i64));
        let later = revisions.iter().find(|it| it.1.word("parent") == Ok(latest));
        match (own, later) {
            (None, _) => wrong.push(format!("page {page} has no revision {latest}")),
            (_, Some((later, _))) => wrong.push(format!("page {page} is at {latest}, but {later} changed that")),
            _ => {}
        }
    }
    Ok(wrong)
}

fn unlisted(state: &mut dyn Client, made: &[&(String, Record)]) -> Result<Vec<String>, Failure> {
    let mut wrong = Vec::new();
    for table in ["recent-changes", "log"] {
        let rows = state.records(table, "")?;
        let missing = made.iter().filter(|it| rows.iter().all(|row| row.0 != it.0));
        wrong.extend(missing.map(|it| format!("{table} has no {}", it.0)));
        let extra = rows.iter().filter(|row| made.iter().all(|it| row.0 != it.0));
        wrong.extend(extra.map(|it| format!("{table} has {}, which is no revision", it.0)));
    }
    Ok(wrong)
}
