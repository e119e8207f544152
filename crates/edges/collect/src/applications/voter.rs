//! Voter: people call to vote for a contestant, once a phone.
//!
//! Source: the voter benchmark of H-Store in OLTP-Bench, with one contestant and one phone as in Geng et al. 2024
//! (`IsoPredict`): in a serial run one transaction writes, and the others find its vote. The view of votes by phone is a
//! table that the transaction keeps, because not every database has views.

use crate::{Application, Assertion, Client, Failure, Random, Record, Row, Slot, Transaction};
use std::fmt;

const CONTESTANT: usize = 1;
const PHONES: usize = 1;
const MAX_VOTES: i64 = 1;

/// The show.
#[derive(Debug)]
pub(super) struct Voter;

#[derive(Debug)]
struct Vote {
    phone: usize,
    vote: Slot,
}

impl fmt::Display for Vote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vote({})", self.phone)
    }
}

impl Transaction for Vote {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        client.record("contestants", CONTESTANT)?;
        let counted = client.int("votes-by-phone", self.phone)?;
        let votes = client.records("votes", format!("{}.", self.phone))?;
        if counted >= MAX_VOTES || votes.len() as i64 >= MAX_VOTES {
            return Ok(());
        }
        let vote = Record::new().with("contestant", CONTESTANT);
        client.add("votes", format!("{}.{}", self.phone, self.vote), vote)?;
        client.increase_from("votes-by-phone", self.phone, counted, 1)
    }
}

impl Application for Voter {
    fn name(&self) -> &'static str {
        "voter"
    }

    fn about(&self) -> &'static str {
        "a show where people vote by phone, at most once each"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["contestants", "votes", "votes-by-phone"]
    }

    fn rows(&self) -> Vec<Row> {
        let contestant = Row::new("contestants", CONTESTANT, Record::new().with("name", "Edwina"));
        let counts = (1..=PHONES).map(|phone| Row::new("votes-by-phone", phone, 0));
        [contestant].into_iter().chain(counts).collect()
    }

    fn transaction(&self, slot: Slot, random: &mut Random) -> Box<dyn Transaction> {
        Box::new(Vote { phone: random.one_to(PHONES), vote: slot })
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let (mut too_many, mut miscounted) = (Vec::new(), Vec::new());
        for phone in 1..=PHONES {
            let n_votes = state.records("votes", format!("{phone}."))?.len() as i64;
            let counted = state.int("votes-by-phone", phone)?;
            if n_votes > MAX_VOTES {
                too_many.push(format!("phone {phone} has {n_votes} votes"));
            }
            if n_votes != counted {
                miscounted.push(format!("phone {phone} has {n_votes} votes, but the count is {counted}"));
            }
        }
        Ok(vec![
            Assertion::none_of("at most one vote a phone", &too_many),
            Assertion::none_of("votes are counted", &miscounted),
        ])
    }
}
