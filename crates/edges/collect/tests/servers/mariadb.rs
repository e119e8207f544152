//! `MariaDB`: repeatable reads that are not snapshot isolation, and writes that leave no trace.

use crate::embedded::check_rows;
use crate::judge::{lost_update, opened, play, verdicts, write_skew};
use crate::server;
use iso_collect::open;
use iso_servers::Kind;
use iso_spec::Level::{PrefixConsistency, Serializable, SnapshotIsolation, StrictSerializable};

#[test]
fn mariadb_isolates_less_than_it_says() {
    let Some(mut server) = server(Kind::MariaDb, &["loose-innodb-snapshot-isolation=OFF"]) else { return };
    let database = opened(&server.url());
    assert!(database.describe().starts_with("MariaDB 1") && !format!("{database:?}").contains(iso_servers::PASSWORD));
    check_rows(&*database);

    let played = play(&*database, &lost_update("repeatable-read"), &[]);
    assert_eq!(verdicts(&played, &[PrefixConsistency, SnapshotIsolation]), "pc holds; si violated: lost-update");
    let played = play(&*database, &write_skew("repeatable-read"), &[]);
    assert_eq!(verdicts(&played, &[SnapshotIsolation, Serializable]), "si holds; ser violated: write-skew");
    let played = play(&*database, &lost_update("serializable"), &[7]);
    assert_eq!(verdicts(&played, &[Serializable, StrictSerializable]), "ser holds; sser holds");
    if database.isolations().contains(&"snapshot-isolation") {
        let played = play(&*database, &lost_update("snapshot-isolation"), &[7]);
        assert_eq!(verdicts(&played, &[SnapshotIsolation]), "si holds");
    }
    let wrong = open(&server.url_with(iso_servers::USER, "wrong-one")).unwrap_err().to_string();
    assert!(wrong.contains("Access denied") && !wrong.contains("wrong-one"), "{wrong}");
    server.kill().unwrap();
}
