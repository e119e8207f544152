//! What the database promised whose history is looked at.

use crate::names::Question;
use iso_formats::RecordedDatabase;
use iso_report::{LevelName, PromiseReport, PromiseVerdict};
use iso_spec::{DatabasePromises, Level, Promise, Promises};

/// What is promised, before anybody knows whether it was kept.
#[derive(Clone, Debug)]
pub(crate) struct Promised {
    pub(crate) question: Question<'static>,
    /// The database for people, and what it promises as the catalogue calls it.
    database: String,
    promises: String,
    source: String,
    recorded: RecordedDatabase,
    on_one_server: Option<Level>,
}

/// A setting of a database behind a driver of one's own that says what a level promises, as in `promise:serializable`.
const PROMISE: &str = "promise:";

/// What a database is called that promises what its isolation levels say.
const STORE: &str = "store";

/// What is promised by a database that was recorded, or why that is not known.
pub(crate) fn promised(recorded: &RecordedDatabase) -> Result<Promised, String> {
    if recorded.name == STORE {
        return of_store(recorded);
    }
    if recorded.settings.iter().any(|it| it.0.starts_with(PROMISE)) {
        return of_driver(recorded);
    }
    let Some(database) = Promises::builtin().database(&recorded.name) else {
        let known: Vec<&str> = Promises::builtin().databases().iter().map(DatabasePromises::name).collect();
        return Err(format!("What {} promises is not known here; known are {}.", recorded.name, known.join(", ")));
    };
    let each = recorded.isolations.iter().map(|it| one(database, recorded, it)).collect::<Result<Vec<_>, _>>()?;
    let [first, ..] = each.as_slice() else { return Err("No isolation level was recorded.".to_owned()) };
    let is_the_same = each.iter().all(|it| it.level_name() == first.level_name());
    let (question, promises) = if is_the_same {
        let question = first.level().map_or_else(|| Question::Spec(first.spec()), Question::Level);
        (question, first.level_name().to_owned())
    } else {
        let levels: Vec<Level> = each.iter().filter_map(|it| it.level()).collect();
        let common = Level::common(&levels).filter(|_| levels.len() == each.len());
        let Some(common) = common else {
            return Err(format!(
                "What {} promises to sessions of different levels is not known here.",
                database.title()
            ));
        };
        let named = each.iter().find(|it| it.level() == Some(common));
        (Question::Level(common), named.map_or(common.short_name(), |it| it.level_name()).to_owned())
    };
    let mut sources: Vec<&str> = Vec::new();
    for promise in &each {
        if !sources.contains(&promise.source()) {
            sources.push(promise.source());
        }
    }
    Ok(Promised {
        question,
        database: database.title().to_owned(),
        promises,
        source: sources.join("; "),
        recorded: recorded.clone(),
        on_one_server: first.on_one_server().filter(|_| is_the_same),
    })
}

/// The promise of one isolation level.
fn one<'p>(database: &'p DatabasePromises, of: &RecordedDatabase, isolation: &str) -> Result<&'p Promise, String> {
    let (title, known) = (database.title(), database.isolations());
    match database.promised(isolation, of.version.as_deref(), &of.settings)[..] {
        [promise] => Ok(promise),
        [] => Err(format!("{title} has no isolation level `{isolation}`; it has {}.", known.join(", "))),
        ref several => {
            let each: Vec<String> =
                several.iter().map(|it| format!("{} ({})", it.level_name(), it.condition())).collect();
            Err(format!(
                "{title} at {isolation} promises {}; the history does not say which of them is so.",
                each.join(" or ")
            ))
        }
    }
}

/// A driver of one's own says what its database promises.
fn of_driver(recorded: &RecordedDatabase) -> Result<Promised, String> {
    let name = &recorded.name;
    let promise = |isolation: &String| {
        let setting = recorded.settings.iter().find(|it| it.0.strip_prefix(PROMISE) == Some(isolation.as_str()));
        let (_, promised) = setting.ok_or_else(|| format!("The driver of {name} promises nothing at {isolation}."))?;
        Level::from_name(promised)
            .ok_or_else(|| format!("The driver of {name} promises `{promised}` at {isolation}, which is no level."))
    };
    let levels = recorded.isolations.iter().map(promise).collect::<Result<Vec<_>, _>>()?;
    let level = Level::common(&levels).filter(|_| !levels.is_empty());
    let level = level.ok_or_else(|| format!("What {name} promises to sessions of different levels is not known."))?;
    Ok(Promised {
        question: Question::Level(level),
        database: name.clone(),
        promises: level.short_name().to_owned(),
        source: "its driver says so".to_owned(),
        recorded: recorded.clone(),
        on_one_server: None,
    })
}

/// The weak store promises the level that it is called by.
fn of_store(recorded: &RecordedDatabase) -> Result<Promised, String> {
    let levels: Vec<Level> = recorded.isolations.iter().filter_map(|it| Level::from_name(it)).collect();
    let level = Level::common(&levels).filter(|_| !levels.is_empty());
    let level = level.ok_or_else(|| format!("The weak store has no level `{}`.", recorded.isolations.join(", ")))?;
    Ok(Promised {
        question: Question::Level(level),
        database: "the weak store".to_owned(),
        promises: level.short_name().to_owned(),
        source: "docs/applications.md".to_owned(),
        recorded: recorded.clone(),
        on_one_server: None,
    })
}

impl Promised {
    /// The same of a history without times, of which levels that look at times cannot be asked.
    pub(crate) fn without_times(mut self) -> Self {
        if let Question::Level(level) = &mut self.question {
            *level = level.without_times();
        }
        self.on_one_server = self.on_one_server.filter(|it| !it.needs_times());
        self
    }

    /// The level that is promised, if it has a name for `check`.
    pub(crate) fn level(&self) -> Option<Level> {
        match self.question {
            Question::Level(level) => Some(level),
            Question::Spec(_) => None,
        }
    }

    /// For the document; nothing is known yet.
    pub(crate) fn report(&self) -> PromiseReport {
        PromiseReport {
            database: self.database.clone(),
            version: self.recorded.version.clone(),
            isolation: self.recorded.isolations.clone(),
            settings: self.recorded.settings.iter().cloned().collect(),
            promises: self.promises.clone(),
            level: self.question.name(),
            verdict: PromiseVerdict::Unknown,
            source: self.source.clone(),
            on_one_server: self.on_one_server.map(LevelName::from),
        }
    }

    /// Why that level, in a sentence without its dot.
    pub(crate) fn because(&self) -> String {
        let words = self.report().words();
        let mut letters = words.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{} ({})", letters.as_str(), self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str, version: &str, isolations: &[&str]) -> RecordedDatabase {
        RecordedDatabase {
            name: name.to_owned(),
            version: (!version.is_empty()).then(|| version.to_owned()),
            isolations: isolations.iter().map(|it| (*it).to_owned()).collect(),
            settings: Vec::new(),
        }
    }

    #[test]
    fn sessions_of_several_levels_have_the_promise_that_all_of_them_imply() {
        let of = |isolations: &[&str]| promised(&recorded("postgres", "15", isolations)).unwrap().promises;
        assert_eq!(of(&["read-committed"]), "postgres.rc");
        assert_eq!(of(&["serializable", "repeatable-read"]), "postgres.rr");
        assert_eq!(of(&["read-committed", "serializable"]), "postgres.rc");
        // Who waits for a row that is made again may miss it, so read committed implies little else.
        assert_eq!(of(&["read-committed", "repeatable-read"]), "ru");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let unknown = |name, version, isolation| promised(&recorded(name, version, &[isolation])).unwrap_err();
        assert!(unknown("db2", "", "rr").starts_with("What db2 promises is not known here; known are postgres"));
        assert!(unknown("postgres", "", "chaos").contains("has no isolation level `chaos`; it has read-uncommitted"));
        let open = unknown("mariadb", "", "repeatable-read");
        assert!(open.contains("mysql.rr (innodb_snapshot_isolation = off) or mariadb.si"), "{open}");
        assert_eq!(promised(&recorded("mariadb", "11.8.2", &["rr"])).unwrap().promises, "mariadb.si");
        assert_eq!(promised(&recorded("store", "", &["cc"])).unwrap().level(), Some(Level::CausalConsistency));
    }
}
