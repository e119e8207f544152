//! The relations that make an execution of a level of a user.

use crate::document::{EventKind, TxnRef, is_zero};
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// A relation between transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRelation {
    /// Its name: `co`.
    pub name: String,
    /// The key that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Value>,
    /// Who is in it.
    #[serde(flatten)]
    pub members: RelationMembers,
}

/// A relation by its pairs, or an order by its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RelationMembers {
    /// Each before all that follow it.
    Order {
        /// The first ones.
        order: Vec<String>,
        /// How many more there are.
        #[serde(rename = "order_omitted", default, skip_serializing_if = "is_zero")]
        omitted: usize,
    },
    /// The pairs of any relation.
    Pairs {
        /// The first ones.
        pairs: Vec<(TxnRef, TxnRef)>,
        /// How many more there are.
        #[serde(rename = "pairs_omitted", default, skip_serializing_if = "is_zero")]
        omitted: usize,
    },
}

impl RelationMembers {
    /// The same with no more than so many members or pairs.
    pub(crate) fn beginning(&self, at_most: usize) -> Self {
        match self {
            Self::Order { order, omitted } => Self::Order {
                order: order.iter().take(at_most).cloned().collect(),
                omitted: omitted + order.len().saturating_sub(at_most),
            },
            Self::Pairs { pairs, omitted } => Self::Pairs {
                pairs: pairs.iter().take(at_most).cloned().collect(),
                omitted: omitted + pairs.len().saturating_sub(at_most),
            },
        }
    }
}

impl EventKind {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Commit => "commit",
        }
    }
}
