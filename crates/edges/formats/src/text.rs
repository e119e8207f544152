//! Our notation for people: sessions are lines, transactions stand in braces.
//!
//! ```text
//! # expect: rc ra cc; not ser (write-skew)
//! # source: Berenson et al. 1995
//! init x=0 y=0
//! s1: { r(x,0) w(y,1) } { r(y,-) } abort @[10,25]
//! s2: { append(z,3) r(z,[1,3]) } unknown
//! s3: { scan(accounts, balance < 10, {accounts/1=5}) [ r(x,0) r(y,0) ] for update u(x,0,2) del(accounts/1) }
//! ```
//!
//! A session may go on in another line, with its name again or without. Times may be open: `@[10,]`. `init *=0` gives
//! every key its initial value. A transaction stands in one line, so that a file that is cut inside one is a defect;
//! a file that is cut between two transactions is a shorter history, and a last line without its end is worth a warning.

mod expect;
mod operation;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
