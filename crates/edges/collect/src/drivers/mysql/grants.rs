//! What a user may do, as the server lists it.

use crate::Value;

/// What a run does in its database.
const NEEDED: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP"];

/// The privileges of a user in a database.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Grants {
    /// Of the database, or of all.
    privileges: Vec<String>,
    /// Of the whole server.
    global: Vec<String>,
    /// What a role brings is not listed everywhere.
    has_roles: bool,
}

impl Grants {
    /// Reads lines such as ``GRANT SELECT, INSERT ON `shop`.* TO `alice`@`%` ``.
    pub(super) fn of(rows: &[Vec<Value>], database: &str) -> Self {
        let mut grants = Self::default();
        for line in rows.iter().flatten().map(ToString::to_string) {
            let Some(rest) = line.strip_prefix("GRANT ") else { continue };
            let Some((privileges, rest)) = rest.split_once(" ON ") else {
                grants.has_roles = true;
                continue;
            };
            let target = rest.split(" TO ").next().unwrap_or_default();
            let privileges = privileges.split(',').map(|it| it.trim().to_ascii_uppercase());
            if target == "*.*" {
                grants.global.extend(privileges);
            } else if target.strip_suffix(".*").is_some_and(|it| names(it, database)) {
                grants.privileges.extend(privileges);
            }
        }
        grants
    }

    /// What the user may not do, although a run does it; none if that is not known for sure.
    pub(super) fn missing(&self) -> Option<String> {
        let has = |name: &&str| {
            let mut all = self.privileges.iter().chain(&self.global);
            all.any(|it| it == name || it == "ALL PRIVILEGES" || it == "ALL")
        };
        let missing: Vec<&str> = NEEDED.iter().filter(|it| !has(it)).copied().collect();
        (!self.has_roles && !missing.is_empty()).then(|| missing.join(", "))
    }

    /// Does a server that only reads let this user write?
    pub(super) fn may_write_anyway(&self) -> bool {
        let names = ["ALL PRIVILEGES", "ALL", "SUPER", "READ ONLY ADMIN", "READ_ONLY ADMIN", "CONNECTION_ADMIN"];
        self.global.iter().any(|it| names.contains(&it.as_str()))
    }

    /// The statement that gives a user what is missing.
    pub(super) fn cure(database: &str, user: &str) -> String {
        let user = match user.rsplit_once('@') {
            Some((name, host)) => format!("'{name}'@'{host}'"),
            None => format!("'{user}'"),
        };
        format!("GRANT {} ON `{database}`.* TO {user};", NEEDED.join(", "))
    }
}

/// Does a pattern such as `` `shop\_%` `` name a database?
fn names(pattern: &str, database: &str) -> bool {
    let pattern: Vec<char> = pattern.trim_matches('`').chars().collect();
    is_like(&pattern, &database.chars().collect::<Vec<_>>())
}

fn is_like(pattern: &[char], text: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['\\', it, rest @ ..], [first, others @ ..]) => it == first && is_like(rest, others),
        (['%', rest @ ..], _) => (0..=text.len()).any(|skipped| is_like(rest, &text[skipped..])),
        (['_', rest @ ..], [_, others @ ..]) => is_like(rest, others),
        ([it, rest @ ..], [first, others @ ..]) => it.eq_ignore_ascii_case(first) && is_like(rest, others),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(lines: &[&str]) -> Grants {
        let rows: Vec<Vec<Value>> = lines.iter().map(|it| vec![Value::from(*it)]).collect();
        Grants::of(&rows, "shop_1")
    }

    #[test]
    fn what_is_missing_is_named() {
        let reader = grants(&["GRANT USAGE ON *.* TO `a`@`%`", "GRANT SELECT, INSERT ON `shop\\_1`.* TO `a`@`%`"]);
        assert_eq!(reader.missing().as_deref(), Some("UPDATE, DELETE, CREATE, DROP"));
        let elsewhere = grants(&["GRANT ALL PRIVILEGES ON `shop\\_2`.* TO `a`@`%`"]);
        assert_eq!(elsewhere.missing().as_deref(), Some("SELECT, INSERT, UPDATE, DELETE, CREATE, DROP"));
        assert_eq!(
            Grants::cure("shop", "a@%"),
            "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON `shop`.* TO 'a'@'%';"
        );
    }

    #[test]
    fn patterns_all_and_roles_are_enough() {
        for line in [
            "GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION",
            "GRANT ALL PRIVILEGES ON `sh%`.* TO `a`@`%`",
            "GRANT `writer` TO `a`@`%`",
        ] {
            assert_eq!(grants(&[line]).missing(), None, "{line}");
        }
        assert!(!grants(&["GRANT ALL PRIVILEGES ON `sh%`.* TO `a`@`%`"]).may_write_anyway());
    }
}
