//! An auction house: users sell, bid and look, and auctions end.
//!
//! Source: `RUBiS` (Cecchet, Marguerite & Zwaenepoel 2002), its transactions about items and bids. We differ: who closes
//! an auction writes a row of its own, so that a bid and the end of the auction write different rows.

use crate::{Application, Assertion, Client, Failure, Random, Record, Row, Slot, Transaction};
use std::fmt;

const USERS: usize = 4;
const ITEMS: usize = 3;

/// The house.
#[derive(Debug)]
pub(super) struct Auction;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Bid,
    Close,
    Reopen,
    ViewItem,
    ViewBids,
}

const MIX: [(usize, Kind); 5] =
    [(55, Kind::Bid), (10, Kind::Close), (5, Kind::Reopen), (15, Kind::ViewItem), (15, Kind::ViewBids)];

#[derive(Debug)]
enum Call {
    /// More than the highest bid so far, or the bid is refused.
    Bid {
        user: usize,
        item: usize,
        raise: i64,
        bid: Slot,
    },
    /// The highest bid wins.
    Close {
        item: usize,
    },
    /// The item is sold again, from the beginning.
    Reopen {
        item: usize,
    },
    ViewItem {
        item: usize,
    },
    ViewBids {
        item: usize,
    },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bid { user, item, raise, .. } => write!(f, "Bid({user},{item},+{raise})"),
            Self::Close { item } => write!(f, "Close({item})"),
            Self::Reopen { item } => write!(f, "Reopen({item})"),
            Self::ViewItem { item } => write!(f, "ViewItem({item})"),
            Self::ViewBids { item } => write!(f, "ViewBids({item})"),
        }
    }
}

impl Transaction for Call {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self {
            Self::Bid { user, item, raise, bid } => place_bid(client, *user, *item, *raise, *bid),
            Self::Close { item } => close(client, *item),
            Self::Reopen { item } => reopen(client, *item),
            Self::ViewItem { item } => {
                client.record("item", item)?;
                client.find("sale", item)?;
                Ok(())
            }
            Self::ViewBids { item } => {
                client.record("item", item)?;
                client.records("bid", format!("{item}."))?;
                Ok(())
            }
        }
    }
}

fn place_bid(client: &mut dyn Client, user: usize, item: usize, raise: i64, bid: Slot) -> Result<(), Failure> {
    if client.find("sale", item)?.is_some() {
        return Err(Failure::aborted(format!("item {item} is sold")));
    }
    let row = client.record("item", item)?;
    let amount = row.int("highest")? + raise;
    client.change_from("item", item, row, |it| {
        it.set("highest", amount);
        it.add("bids", 1)
    })?;
    client.add("bid", format!("{item}.{bid}"), Record::new().with("user", user).with("amount", amount))
}

/// The user and the amount of the highest one of some bids.
fn highest(bids: &[(String, Record)]) -> Result<Option<(i64, i64)>, Failure> {
    let mut best: Option<(i64, i64)> = None;
    for (_, bid) in bids {
        let (user, amount) = (bid.int("user")?, bid.int("amount")?);
        if best.is_none_or(|it| amount > it.1) {
            best = Some((user, amount));
        }
    }
    Ok(best)
}

fn close(client: &mut dyn Client, item: usize) -> Result<(), Failure> {
    if client.find("sale", item)?.is_some() {
        return Ok(());
    }
    let bids = client.records("bid", format!("{item}."))?;
    let Some((winner, amount)) = highest(&bids)? else { return Ok(()) };
    let sale = Record::new().with("winner", winner).with("amount", amount).with("bids", bids.len());
    client.add("sale", item, sale)
}

fn reopen(client: &mut dyn Client, item: usize) -> Result<(), Failure> {
    if client.find("sale", item)?.is_none() {
        return Ok(());
    }
    client.remove("sale", item)?;
    for (bid, _) in client.records("bid", format!("{item}."))? {
        client.remove("bid", bid)?;
    }
    client.write("item", item, new_item())
}

fn new_item() -> Record {
    Record::new().with("highest", 0).with("bids", 0)
}

impl Application for Auction {
    fn name(&self) -> &'static str {
        "auction"
    }

    fn about(&self) -> &'static str {
        "an auction house; the highest bid wins, and nobody bids after the end"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["bid", "item", "sale"]
    }

    fn rows(&self) -> Vec<Row> {
        (1..=ITEMS).map(|it| Row::new("item", it, new_item())).collect()
    }

    fn transaction(&self, slot: Slot, random: &mut Random) -> Box<dyn Transaction> {
        let kind = random.weighted(&MIX);
        let (user, item) = (random.one_to(USERS), random.one_to(ITEMS));
        Box::new(match kind {
            Kind::Bid => Call::Bid { user, item, raise: random.amount(1, 50), bid: slot },
            Kind::Close => Call::Close { item },
            Kind::Reopen => Call::Reopen { item },
            Kind::ViewItem => Call::ViewItem { item },
            Kind::ViewBids => Call::ViewBids { item },
        })
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let (mut miscounted, mut lower) = (Vec::new(), Vec::new());
        let (mut late, mut wrong_winner) = (Vec::new(), Vec::new());
        for item in 1..=ITEMS {
            let row = state.record("item", item)?;
            let bids = state.records("bid", format!("{item}."))?;
            let best = highest(&bids)?;
            let (counted, n_bids) = (row.int("bids")?, bids.len() as i64);
            if counted != n_bids {
                miscounted.push(format!("item {item} counts {counted} bids, and has {n_bids}"));
            }
            let (shown, found) = (row.int("highest")?, best.map_or(0, |it| it.1));
            if shown != found {
                lower.push(format!("item {item} shows {shown}, but the highest bid is {found}"));
            }
            let Some(sale) = state.find("sale", item)? else { continue };
            if sale.int("bids")? != n_bids {
                late.push(format!("item {item} was sold after {} bids, and has {n_bids}", sale.int("bids")?));
            }
            let won = (sale.int("winner")?, sale.int("amount")?);
            if best.is_none_or(|it| won.1 < it.1) {
                let best = best.map_or("nothing".to_owned(), |it| format!("{} by user {}", it.1, it.0));
                wrong_winner.push(format!("item {item} went for {} to user {}, but {best} was bid", won.1, won.0));
            }
        }
        Ok(vec![
            Assertion::none_of("items count their bids", &miscounted),
            Assertion::none_of("items show their highest bid", &lower),
            Assertion::none_of("nobody bids after the end", &late),
            Assertion::none_of("the highest bid wins", &wrong_winner),
        ])
    }
}
