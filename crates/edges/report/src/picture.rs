//! Where everything of a picture goes: sessions as lanes, transactions as boxes, dependencies as curves.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "pictures are small and have no negative sizes")]

mod crowd;
mod geometry;
mod hasse;
mod layout;
mod route;

pub(crate) use geometry::{Path, Piece, Point};
pub(crate) use hasse::{ClassBox, Hasse, HasseLine};
pub(crate) use layout::{Layout, Metrics, TxnBox, shown_initial};
pub(crate) use route::{Emphasis, Route, routes};
