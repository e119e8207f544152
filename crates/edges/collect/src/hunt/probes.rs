//! Short scripts that show known anomalies where a database allows them, as data.

use crate::script::{Action, Script};

/// A script that shows an anomaly if the database allows it.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// What the anomaly is called.
    pub name: &'static str,
    /// What happens, in a sentence.
    pub about: &'static str,
    /// The steps, in the order that shows it most often. The isolation level is a `?`.
    text: &'static str,
}

impl Probe {
    /// The steps, at an isolation level.
    pub fn script(&self, isolation: &str) -> Script {
        let mut script: Script = self.text.parse().unwrap_or_else(|error| unreachable!("{}: {error}", self.name));
        for step in &mut script.steps {
            if let Action::Begin { isolation: level } = &mut step.action {
                isolation.clone_into(level);
            }
        }
        script
    }
}

/// The probes, in the order in which a hunt tries them.
pub const PROBES: [Probe; 14] = [
    Probe {
        name: "lost-update",
        about: "two transactions read a row and then both write it",
        text: "table kv int\nrow kv x 0\n\
            s1 begin ?\ns2 begin ?\ns1 get kv x\ns2 get kv x\ns1 put kv x 1\ns1 commit\ns2 put kv x 2\ns2 commit",
    },
    Probe {
        name: "write-skew",
        about: "two transactions read two rows and each writes the other one",
        text: "table kv int\nrow kv x 0\nrow kv y 0\n\
            s1 begin ?\ns2 begin ?\ns1 get kv x\ns2 get kv y\ns1 put kv y 1\ns2 put kv x 1\ns1 commit\ns2 commit",
    },
    Probe {
        name: "same-value-update",
        about: "a transaction writes a value that another one wrote after it had read the row, and reads it again",
        text: "table kv int\nrow kv x 0\n\
            s1 begin ?\ns1 get kv x\ns2 begin ?\ns2 put kv x 1\ns2 commit\ns1 put kv x 1\ns1 get kv x\ns1 commit",
    },
    Probe {
        name: "same-value-conflict",
        about: "a transaction writes the value that a row has already, and another one that does not see it writes the row",
        text: "table kv int\nrow kv x 0\nrow kv y 0\n\
            s1 begin ?\ns1 get kv y\ns2 begin ?\ns2 put kv x 0\ns2 put kv y 1\ns2 commit\ns1 put kv x 1\ns1 commit\n\
            s3 begin ?\ns3 get kv x\ns3 get kv y\ns3 commit",
    },
    Probe {
        name: "read-skew",
        about: "a transaction reads one row before and another one after a transaction that writes both",
        text: "table kv int\nrow kv x 0\nrow kv y 0\n\
            s1 begin ?\ns1 get kv x\ns2 begin ?\ns2 put kv x 1\ns2 put kv y 1\ns2 commit\ns1 get kv y\ns1 commit",
    },
    Probe {
        name: "unrepeatable-read",
        about: "a transaction reads a row before and after a transaction that writes it",
        text: "table kv int\nrow kv x 0\n\
            s1 begin ?\ns1 get kv x\ns2 begin ?\ns2 put kv x 1\ns2 commit\ns1 get kv x\ns1 commit",
    },
    Probe {
        name: "aborted-read",
        about: "a transaction reads what another one has written that aborts",
        text: "table kv int\nrow kv x 0\n\
            s1 begin ?\ns1 put kv x 1\ns2 begin ?\ns2 get kv x\ns1 abort\ns2 commit",
    },
    Probe {
        name: "dirty-read",
        about: "a transaction reads between two writes of another one",
        text: "table kv int\nrow kv x 0\n\
            s1 begin ?\ns1 put kv x 1\ns2 begin ?\ns2 get kv x\ns2 commit\ns1 put kv x 2\ns1 commit",
    },
    Probe {
        name: "phantom-write-skew",
        about: "two transactions scan a table and each adds a row that the other one does not see",
        text: "table kv int\n\
            s1 begin ?\ns2 begin ?\ns1 scan kv\ns2 scan kv\ns1 insert kv x 1\ns2 insert kv y 1\ns1 commit\ns2 commit",
    },
    Probe {
        name: "phantom",
        about: "a transaction scans a table before and after a transaction that adds a row",
        text: "table kv int\nrow kv x 1\n\
            s1 begin ?\ns1 scan kv\ns2 begin ?\ns2 insert kv y 1\ns2 commit\ns1 scan kv\ns1 commit",
    },
    Probe {
        name: "phantom-update",
        about: "a transaction scans a table and then updates rows that the scan did not return",
        text: "table kv int\nrow kv x 1\n\
            s1 begin ?\ns1 scan kv\ns2 begin ?\ns2 insert kv y 1\ns2 commit\ns1 add kv 1 where all\ns1 scan kv\ns1 commit",
    },
    Probe {
        name: "predicate-many-preceders",
        about: "a statement looks for rows by their values while a transaction changes the values of several",
        text: "table kv int\nrow kv x 10\nrow kv y 20\n\
            s1 begin ?\ns2 begin ?\ns1 add kv 10 where all\ns2 delete kv where value = 20\ns1 commit\ns2 scan kv\n\
            s2 commit",
    },
    Probe {
        name: "unique-check",
        about: "two transactions look whether a value is taken, find that it is not, and each takes it by a new row",
        text: "table kv int\nrow kv x 1\n\
            s1 begin ?\ns2 begin ?\ns1 scan kv value = 7\ns2 scan kv value = 7\ns1 insert kv y 7\ns2 insert kv z 7\n\
            s1 commit\ns2 commit",
    },
    Probe {
        name: "long-fork",
        about: "two readers see two independent writes in different orders",
        text: "table kv int\nrow kv x 0\nrow kv y 0\n\
            s1 begin ?\ns2 begin ?\ns3 begin ?\ns4 begin ?\ns1 put kv x 1\ns3 get kv y\ns1 commit\ns3 get kv x\n\
            s2 put kv y 1\ns4 get kv x\ns2 commit\ns4 get kv y\ns3 commit\ns4 commit",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_a_script_of_transactions_that_end() {
        for probe in PROBES {
            let script = probe.script("serializable");
            let n_begins = script.steps.iter().filter(|it| matches!(it.action, Action::Begin { .. })).count();
            let ends = script.steps.iter().filter(|it| matches!(it.action, Action::Commit | Action::Abort));
            assert_eq!(n_begins, ends.count(), "{}", probe.name);
            assert!(script.to_string().contains("s1 begin serializable\n"));
        }
    }
}
