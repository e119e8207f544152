//! A clone of Twitter: users who tweet and follow each other, join and leave.
//!
//! Source: the Twitter benchmark of OLTP-Bench (Difallah, Pavlo, Curino & Cudré-Mauroux 2013), with both directions of
//! "follows" in tables of their own as there. We differ: counters of tweets and followers, and users who leave.

use crate::{Application, Assertion, Client, Failure, Random, Record, Row, Slot, Transaction};
use std::fmt;

const USERS: usize = 4;

/// The network.
#[derive(Debug)]
pub(super) struct Twitter;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Tweet,
    Follow,
    Unfollow,
    Timeline,
    Leave,
    Join,
}

const MIX: [(usize, Kind); 6] = [
    (25, Kind::Tweet),
    (30, Kind::Follow),
    (10, Kind::Unfollow),
    (20, Kind::Timeline),
    (8, Kind::Leave),
    (7, Kind::Join),
];

#[derive(Debug)]
enum Call {
    Tweet { user: usize, text: Slot },
    Follow { user: usize, whom: usize },
    Unfollow { user: usize, whom: usize },
    Timeline { user: usize },
    Leave { user: usize },
    Join { user: usize },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tweet { user, .. } => write!(f, "Tweet({user})"),
            Self::Follow { user, whom } => write!(f, "Follow({user},{whom})"),
            Self::Unfollow { user, whom } => write!(f, "Unfollow({user},{whom})"),
            Self::Timeline { user } => write!(f, "Timeline({user})"),
            Self::Leave { user } => write!(f, "Leave({user})"),
            Self::Join { user } => write!(f, "Join({user})"),
        }
    }
}

impl Transaction for Call {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self {
            Self::Tweet { user, text } => {
                let number = count(client, *user, "tweets", 1)?;
                let tweet = Record::new().with("text", text.to_string());
                client.add("tweet", format!("{user}.{number:04}"), tweet)
            }
            Self::Follow { user, whom } => follow(client, *user, *whom),
            Self::Unfollow { user, whom } => {
                if client.get("follows", &pair(*user, *whom))?.is_none() {
                    return Ok(());
                }
                part(client, *user, *whom)
            }
            Self::Timeline { user } => timeline(client, *user),
            Self::Leave { user } => leave(client, *user),
            Self::Join { user } => {
                if client.find("user", user)?.is_some() {
                    return Ok(());
                }
                let n_tweets = client.records("tweet", format!("{user}."))?.len();
                client.add("user", user, profile(n_tweets))
            }
        }
    }
}

fn profile(n_tweets: usize) -> Record {
    Record::new().with("tweets", n_tweets).with("followers", 0)
}

fn pair(one: impl fmt::Display, other: impl fmt::Display) -> String {
    format!("{one}.{other}")
}

/// Adds to a number in the profile of a user, who must be here, and says what it is now.
fn count(client: &mut dyn Client, user: usize, what: &str, change: i64) -> Result<i64, Failure> {
    let row = client.record("user", user)?;
    client.change_from("user", user, row, |it| it.add(what, change))?.int(what)
}

fn follow(client: &mut dyn Client, user: usize, whom: usize) -> Result<(), Failure> {
    client.record("user", user)?;
    if client.get("follows", &pair(user, whom))?.is_some() {
        return Ok(());
    }
    count(client, whom, "followers", 1)?;
    client.add("follows", pair(user, whom), 1)?;
    client.add("followers", pair(whom, user), 1)
}

/// One user follows another one no more.
fn part(client: &mut dyn Client, user: usize, whom: usize) -> Result<(), Failure> {
    count(client, whom, "followers", -1)?;
    client.remove("follows", pair(user, whom))?;
    client.remove("followers", pair(whom, user))
}

fn timeline(client: &mut dyn Client, user: usize) -> Result<(), Failure> {
    for whom in others(client.ints("follows", format!("{user}."))?)? {
        client.records("tweet", format!("{whom}."))?;
    }
    Ok(())
}

/// Tweets stay, everything else goes.
fn leave(client: &mut dyn Client, user: usize) -> Result<(), Failure> {
    if client.find("user", user)?.is_none() {
        return Ok(());
    }
    for whom in others(client.ints("follows", format!("{user}."))?)? {
        part(client, user, whom)?;
    }
    for follower in others(client.ints("followers", format!("{user}."))?)? {
        client.remove("follows", pair(follower, user))?;
        client.remove("followers", pair(user, follower))?;
    }
    client.remove("user", user)
}

/// The second users of pairs.
fn others(rows: Vec<(String, i64)>) -> Result<Vec<usize>, Failure> {
    let second = |key: &str| key.split('.').nth(1).and_then(|it| it.parse().ok());
    let broken = |key: &str| Failure::broken(format!("`{key}` is no pair of users"));
    rows.into_iter().map(|(key, _)| second(&key).ok_or_else(|| broken(&key))).collect()
}

impl Application for Twitter {
    fn name(&self) -> &'static str {
        "twitter"
    }

    fn about(&self) -> &'static str {
        "a network whose users tweet, follow each other and leave; counters and references hold"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["followers", "follows", "tweet", "user"]
    }

    fn rows(&self) -> Vec<Row> {
        (1..=USERS).map(|it| Row::new("user", it, profile(0))).collect()
    }

    fn transaction(&self, slot: Slot, random: &mut Random) -> Box<dyn Transaction> {
        let kind = random.weighted(&MIX);
        let (user, whom) = random.two_of(USERS);
        Box::new(match kind {
            Kind::Tweet => Call::Tweet { user, text: slot },
            Kind::Follow => Call::Follow { user, whom },
            Kind::Unfollow => Call::Unfollow { user, whom },
            Kind::Timeline => Call::Timeline { user },
            Kind::Leave => Call::Leave { user },
            Kind::Join => Call::Join { user },
        })
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let (mut miscounted, mut uncounted) = (Vec::new(), Vec::new());
        let (mut one_sided, mut gone) = (Vec::new(), Vec::new());
        for user in 1..=USERS {
            let row = state.find("user", user)?;
            let follows = others(state.ints("follows", format!("{user}."))?)?;
            let followers = others(state.ints("followers", format!("{user}."))?)?;
            let n_tweets = state.records("tweet", format!("{user}."))?.len() as i64;
            if let Some(row) = &row {
                compare(&mut miscounted, user, "tweets", row, n_tweets)?;
                compare(&mut uncounted, user, "followers", row, followers.len() as i64)?;
            } else if !follows.is_empty() || !followers.is_empty() {
                let n_both = (follows.len(), followers.len());
                gone.push(format!("user {user} has left, follows {} and is followed by {}", n_both.0, n_both.1));
            }
            for whom in follows {
                if state.get("followers", &pair(whom, user))?.is_none() {
                    one_sided.push(format!("user {user} follows user {whom}, who does not know"));
                }
            }
            for follower in followers {
                if state.get("follows", &pair(follower, user))?.is_none() {
                    one_sided.push(format!("user {user} is followed by user {follower}, who does not know"));
                }
            }
        }
        Ok(vec![
            Assertion::none_of("users have as many tweets as they count", &miscounted),
            Assertion::none_of("users have as many followers as they count", &uncounted),
            Assertion::none_of("who follows is a follower", &one_sided),
            Assertion::none_of("who follows or is followed is here", &gone),
        ])
    }
}

fn compare(wrong: &mut Vec<String>, user: usize, what: &str, row: &Record, n_rows: i64) -> Result<(), Failure> {
    let counted = row.int(what)?;
    if counted != n_rows {
        wrong.push(format!("user {user} counts {counted} {what}, and there are {n_rows}"));
    }
    Ok(())
}
