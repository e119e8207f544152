//! Encrypted connections to real servers, with certificates that are made for each test.

use crate::judge::{lost_update, opened, play};
use crate::{server, there};
use iso_collect::open;
use iso_servers::{Authority, Identity, Kind, PASSWORD, Server, USER, self_signed};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

const TLS: [&str; 3] = ["ssl=on", "ssl_cert_file={folder}/server.crt", "ssl_key_file={folder}/server.key"];

/// A server that takes nothing but encrypted connections.
fn encrypted_postgresql(identity: &Identity, hba: &str, also: &[(&str, &str)]) -> Option<Server> {
    let mut settings = TLS.to_vec();
    settings.push("hba_file={folder}/hba");
    let files = [("server.crt", &*identity.certificate), ("server.key", &*identity.key), ("hba", hba)];
    if also.iter().any(|it| it.0 == "clients.crt") {
        settings.push("ssl_ca_file={folder}/clients.crt");
    }
    there(Server::start_with(Kind::PostgreSql, &settings, &[&files[..], also].concat()))
}

/// A file of this test, readable as said.
fn file(folder: &TempDir, name: &str, text: &str, mode: u32) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path.display().to_string()
}

#[track_caller]
fn refused(url: &str, words: &[&str]) {
    let error = open(url).unwrap_err().to_string();
    assert!(words.iter().all(|it| error.contains(it)), "{url}: {error}");
    assert!(!error.contains(PASSWORD), "{error}");
}

#[test]
fn postgresql_that_signs_itself_is_trusted_only_with_its_certificate() {
    let identity = self_signed(&["localhost"]).unwrap();
    let Some(server) = encrypted_postgresql(&identity, "hostssl all all all scram-sha-256\n", &[]) else { return };
    let folder = TempDir::new().unwrap();
    let root = file(&folder, "root.crt", &identity.certificate, 0o644);
    let other = file(&folder, "other.crt", &self_signed(&["localhost"]).unwrap().certificate, 0o644);
    let by_name = server.url().replace("127.0.0.1", "localhost");
    let by_address = server.url();

    refused(&format!("{by_name}?sslmode=disable"), &["no encryption", "leave out sslmode=disable"]);
    for mode in ["allow", "prefer", "require"] {
        opened(&format!("{by_name}?sslmode={mode}"));
    }
    let database = opened(&by_name);
    play(&*database, &lost_update("repeatable-read"), &[7]);

    let hint = ["not trusted", "sslrootcert=FILE", "sslmode=require"];
    refused(&format!("{by_name}?sslmode=verify-full"), &hint);
    refused(&format!("{by_name}?sslmode=verify-full&sslrootcert=system"), &hint);
    for mode in ["require", "verify-ca", "verify-full"] {
        opened(&format!("{by_name}?sslmode={mode}&sslrootcert={root}"));
        refused(&format!("{by_name}?sslmode={mode}&sslrootcert={other}"), &["not trusted", "sslrootcert=FILE"]);
    }
    // The certificate is for the name only.
    opened(&format!("{by_address}?sslmode=verify-ca&sslrootcert={root}"));
    let words = ["is not for `127.0.0.1`", "take sslmode=verify-ca"];
    refused(&format!("{by_address}?sslmode=verify-full&sslrootcert={root}"), &words);
}

#[test]
fn postgresql_takes_clients_with_certificates_of_an_authority() {
    let authority = Authority::new().unwrap();
    let identity = authority.server(&["localhost", "127.0.0.1"]).unwrap();
    let hba = "hostssl all all all cert\n";
    let clients = [("clients.crt", authority.certificate.as_str())];
    let Some(server) = encrypted_postgresql(&identity, hba, &clients) else { return };
    let folder = TempDir::new().unwrap();
    let client = authority.client(USER).unwrap();
    let root = file(&folder, "root.crt", &authority.certificate, 0o644);
    let certificate = file(&folder, "client.crt", &client.certificate, 0o644);
    let key = file(&folder, "client.key", &client.key, 0o600);
    let bare = server.url().replace(&format!(":{PASSWORD}@"), "@");
    let url = format!("{bare}?sslmode=verify-full&sslrootcert={root}");
    opened(&format!("{url}&sslcert={certificate}&sslkey={key}"));
    refused(&url, &["give sslcert=FILE and sslkey=FILE"]);
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    refused(&format!("{url}&sslcert={certificate}&sslkey={key}"), &["others may read it; chmod 600"]);
    refused(&format!("{url}&sslcert={certificate}"), &["needs its key: give sslkey=FILE"]);

    let stranger = Authority::new().unwrap();
    let strange = file(&folder, "strange.crt", &stranger.certificate, 0o644);
    let words = ["signed by an authority that is not trusted", "sslrootcert=FILE"];
    refused(&format!("{bare}?sslmode=verify-ca&sslrootcert={strange}"), &words);
}

#[test]
fn postgresql_without_encryption_is_refused_by_who_wants_it() {
    let Some(server) = server(Kind::PostgreSql, &["ssl=off"]) else { return };
    opened(&format!("{}?sslmode=prefer", server.url()));
    opened(&format!("{}?sslmode=allow", server.url()));
    refused(&format!("{}?sslmode=require", server.url()), &["does not support TLS", "sslmode=prefer"]);
    let of_socket = format!("{}&sslmode=require", server.url_of_socket());
    opened(&of_socket);
}

#[test]
fn mariadb_that_requires_encryption_gets_it() {
    let authority = Authority::new().unwrap();
    let identity = authority.server(&["localhost", "127.0.0.1"]).unwrap();
    let settings = ["ssl-cert={folder}/server.crt", "ssl-key={folder}/server.key", "ssl-ca={folder}/root.crt"];
    let files =
        [("server.crt", &*identity.certificate), ("server.key", &*identity.key), ("root.crt", &*authority.certificate)];
    let Some(server) = there(Server::start_with(Kind::MariaDb, &settings, &files)) else { return };
    let mut other =
        mysql::Conn::new(mysql::Opts::from_url(&server.url().replace("mariadb:", "mysql:")).unwrap()).unwrap();
    for (user, what) in [("encrypted", "SSL"), ("certified", "X509")] {
        let create = format!("CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}' REQUIRE {what}");
        mysql::prelude::Queryable::query_drop(&mut other, create).unwrap();
        let grant = format!("GRANT ALL ON isoscope.* TO '{user}'@'127.0.0.1'");
        mysql::prelude::Queryable::query_drop(&mut other, grant).unwrap();
    }
    let folder = TempDir::new().unwrap();
    let root = file(&folder, "root.crt", &authority.certificate, 0o644);
    let url = server.url_with("encrypted", PASSWORD);
    refused(&format!("{url}?ssl-mode=DISABLED"), &["Access denied", "leave out ssl-mode=DISABLED"]);
    let database = opened(&url);
    play(&*database, &lost_update("repeatable-read"), &[]);
    opened(&format!("{url}?ssl-mode=REQUIRED"));
    opened(&format!("{url}?ssl-mode=VERIFY_IDENTITY&ssl-ca={root}"));
    refused(&format!("{url}?ssl-mode=VERIFY_IDENTITY"), &["not trusted", "ssl-ca=FILE", "ssl-mode=REQUIRED"]);
    let strange = file(&folder, "strange.crt", &Authority::new().unwrap().certificate, 0o644);
    for mode in ["VERIFY_CA", "VERIFY_IDENTITY"] {
        refused(&format!("{url}?ssl-mode={mode}&ssl-ca={strange}"), &["not trusted", "ssl-ca=FILE"]);
        let database = opened(&format!("{url}?ssl-mode={mode}&ssl-ca={root}"));
        play(&*database, &lost_update("repeatable-read"), &[]);
        let wrong = server.url_with("encrypted", "wrong");
        refused(&format!("{wrong}?ssl-mode={mode}&ssl-ca={root}"), &["Access denied"]);
    }

    let client = authority.client("certified").unwrap();
    let certificate = file(&folder, "client.crt", &client.certificate, 0o644);
    let key = file(&folder, "client.key", &client.key, 0o600);
    let url = server.url_with("certified", PASSWORD);
    opened(&format!("{url}?ssl-mode=REQUIRED&ssl-cert={certificate}&ssl-key={key}"));
    opened(&format!("{url}?ssl-mode=VERIFY_CA&ssl-ca={root}&ssl-cert={certificate}&ssl-key={key}"));
    refused(&format!("{url}?ssl-mode=REQUIRED"), &["Access denied"]);
    refused(&format!("{url}?ssl-mode=VERIFY_CA&ssl-ca={root}"), &["Access denied"]);
}

#[test]
fn mariadb_that_signs_itself_for_another_name_is_trusted_by_who_does_not_look_at_names() {
    let identity = self_signed(&["db.example"]).unwrap();
    let settings = ["ssl-cert={folder}/server.crt", "ssl-key={folder}/server.key"];
    let files = [("server.crt", &*identity.certificate), ("server.key", &*identity.key)];
    let Some(server) = there(Server::start_with(Kind::MariaDb, &settings, &files)) else { return };
    let folder = TempDir::new().unwrap();
    let root = file(&folder, "root.crt", &identity.certificate, 0o644);
    let other = file(&folder, "other.crt", &self_signed(&["db.example"]).unwrap().certificate, 0o644);
    let url = server.url();
    opened(&format!("{url}?ssl-mode=VERIFY_CA&ssl-ca={root}"));
    refused(&format!("{url}?ssl-mode=VERIFY_CA&ssl-ca={other}"), &["not trusted", "ssl-ca=FILE"]);
    let words = ["is not for `127.0.0.1`", "take ssl-mode=VERIFY_CA"];
    refused(&format!("{url}?ssl-mode=VERIFY_IDENTITY&ssl-ca={root}"), &words);
}

#[test]
fn mariadb_without_encryption_is_refused_by_who_wants_it() {
    let Some(server) = server(Kind::MariaDb, &["skip-ssl"]) else { return };
    opened(&format!("{}?ssl-mode=PREFERRED", server.url()));
    let folder = TempDir::new().unwrap();
    let root = file(&folder, "root.crt", &Authority::new().unwrap().certificate, 0o644);
    for mode in ["REQUIRED".to_owned(), format!("VERIFY_CA&ssl-ca={root}")] {
        refused(&format!("{}?ssl-mode={mode}", server.url()), &["the server encrypts nothing", "ssl-mode=PREFERRED"]);
    }
}
