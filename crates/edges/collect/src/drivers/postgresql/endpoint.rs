//! A connection for statements of any kind, and where it leads.

use super::{Link, open};
use crate::address::Address;
use crate::drivers::libpq::Login;
use crate::environment::Environment;
use crate::{Failure, OpenError};

/// Where a server is, and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Host, port and name of the database.
    pub(crate) place: String,
    pub(crate) version: String,
}

/// Connects for statements of any kind, to a server and to no pooler.
pub(crate) fn administrate(address: &Address) -> Result<(postgres::Client, Endpoint), OpenError> {
    let environment = Environment::of_process();
    let Login { host, port, .. } = Login::of(address, &environment)?;
    let database = open(address, &environment)?;
    let unreachable = |failure: &Failure| OpenError::Unreachable {
        place: format!("PostgreSQL at {}", database.place),
        reason: failure.to_string(),
    };
    if database.link == Link::Pooled {
        return Err(unreachable(&Failure::broken("there is a pooler; give the address of the server itself")));
    }
    let client = database.connect_now().map_err(|it| unreachable(&database.explained(&it)))?;
    Ok((client, Endpoint { host, port, place: database.place.clone(), version: database.version.clone() }))
}
