//! The twelve consistency conditions of TPC-C.
//!
//! Source: TPC Benchmark C, revision 5.11, clauses 3.3.2.1 to 3.3.2.12. We differ in the eleventh, which counts the
//! orders delivered before a run and is broken by the first delivery: here later deliveries are counted, too.

use super::{DELIVERED, DISTRICTS, NONE, customer_key, order_of};
use crate::{Assertion, Client, Failure, Record};
use std::collections::BTreeMap;

/// Whether each condition holds.
pub(super) fn conditions(state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
    let mut wrong: [Vec<String>; 12] = Default::default();
    let payments = state.records("history", "")?;
    let warehouse = state.record("warehouse", 1)?.int("ytd")?;
    let mut districts = 0;
    for district in 1..=DISTRICTS {
        let view = District::read(state, district, &payments)?;
        view.orders(&mut wrong)?;
        view.money(&mut wrong)?;
        districts += view.row.int("ytd")?;
    }
    let received = sum(payments.iter().map(|it| &it.1), "amount")?;
    expect(&mut wrong[0], "W_YTD", warehouse, "D_YTD together", districts);
    expect(&mut wrong[7], "W_YTD", warehouse, "H_AMOUNT together", received);
    Ok(NAMES.iter().zip(&wrong).map(|(name, wrong)| Assertion::none_of(name, wrong)).collect())
}

const NAMES: [&str; 12] = [
    "1: the warehouse has received what its districts have",
    "2: the next order of a district follows its last one",
    "3: new orders of a district have no gap",
    "4: districts have as many lines as their orders say",
    "5: an order is new until it has a carrier",
    "6: each order has as many lines as it says",
    "7: lines are delivered with their order",
    "8: the warehouse has received all payments",
    "9: each district has received its payments",
    "10: balances are what was delivered less what was paid",
    "11: orders that are not new were delivered",
    "12: balance and payments are what was delivered",
];

/// What the conditions look at in one district.
struct District {
    number: usize,
    row: Record,
    customers: Vec<(String, Record)>,
    orders: BTreeMap<i64, Record>,
    /// Numbers of orders.
    new_orders: Vec<i64>,
    /// By the number of the order.
    lines: BTreeMap<i64, Vec<Record>>,
    payments: Vec<Record>,
}

impl District {
    fn read(state: &mut dyn Client, number: usize, payments: &[(String, Record)]) -> Result<Self, Failure> {
        let prefix = format!("{number}.");
        let mut orders = BTreeMap::new();
        for (key, order) in state.records("order", &prefix)? {
            orders.insert(order_of(&key)?, order);
        }
        let mut lines: BTreeMap<i64, Vec<Record>> = BTreeMap::new();
        for (key, line) in state.records("line", &prefix)? {
            lines.entry(order_of(&key)?).or_default().push(line);
        }
        let new_orders = state.ints("new-order", &prefix)?;
        let own = payments.iter().map(|it| &it.1).filter(|it| it.int("district") == Ok(number as i64));
        Ok(Self {
            number,
            row: state.record("district", number)?,
            customers: state.records("customer", &prefix)?,
            orders,
            new_orders: new_orders.iter().map(|it| order_of(&it.0)).collect::<Result<_, _>>()?,
            lines,
            payments: own.cloned().collect(),
        })
    }

    /// Conditions 2 to 7, and 11.
    fn orders(&self, wrong: &mut [Vec<String>; 12]) -> Result<(), Failure> {
        let place = |what: &str| format!("{what} in district {}", self.number);
        let next = self.row.int("next")?;
        let last = self.orders.keys().next_back().copied().unwrap_or(0);
        expect(&mut wrong[1], "D_NEXT_O_ID - 1", next - 1, &place("the last O_ID"), last);
        if let (Some(first_new), Some(last_new)) = (self.new_orders.iter().min(), self.new_orders.iter().max()) {
            expect(&mut wrong[1], "D_NEXT_O_ID - 1", next - 1, &place("the last NO_O_ID"), *last_new);
            let span = last_new - first_new + 1;
            expect(&mut wrong[2], "the span of NO_O_ID", span, &place("new orders"), self.new_orders.len() as i64);
        }
        let n_lines: usize = self.lines.values().map(Vec::len).sum();
        let said = sum(self.orders.values(), "lines")?;
        expect(&mut wrong[3], "O_OL_CNT together", said, &place("lines"), n_lines as i64);
        for (number, order) in &self.orders {
            let lines = self.lines.get(number).map_or(&[][..], Vec::as_slice);
            let place = |what: &str| format!("{what} of order {}.{number}", self.number);
            let is_delivered = order.int("carrier")? != NONE;
            if is_delivered == self.new_orders.contains(number) {
                let carrier = if is_delivered { "a carrier and a" } else { "no carrier and no" };
                wrong[4].push(format!("order {}.{number} has {carrier} row in NEW-ORDER", self.number));
            }
            expect(&mut wrong[5], "O_OL_CNT", order.int("lines")?, &place("lines"), lines.len() as i64);
            for line in lines {
                if (line.int("delivered")? != NONE) != is_delivered {
                    let (line_is, order_has) = if is_delivered { ("not ", "a") } else { ("", "no") };
                    wrong[6]
                        .push(format!("{} is {line_is}delivered, but that has {order_has} carrier", place("a line")));
                }
            }
        }
        let n_delivered = DELIVERED as i64 + sum(self.customers.iter().map(|it| &it.1), "deliveries")?;
        let n_old = self.orders.len() as i64 - self.new_orders.len() as i64;
        expect(&mut wrong[10], "orders that are not new", n_old, &place("deliveries"), n_delivered);
        Ok(())
    }

    /// Conditions 9, 10 and 12.
    fn money(&self, wrong: &mut [Vec<String>; 12]) -> Result<(), Failure> {
        let received = sum(&self.payments, "amount")?;
        let what = format!("H_AMOUNT together in district {}", self.number);
        expect(&mut wrong[8], "D_YTD", self.row.int("ytd")?, &what, received);
        for customer in 1..=self.customers.len() {
            let key = customer_key(self.number, customer);
            let Some((_, row)) = self.customers.iter().find(|it| it.0 == key) else { continue };
            let paid = sum(self.payments.iter().filter(|it| it.int("customer") == Ok(customer as i64)), "amount")?;
            let delivered = self.delivered_to(customer)?;
            let balance = row.int("balance")?;
            let place = |what: &str| format!("{what} of customer {key}");
            let expected = delivered - paid;
            expect(&mut wrong[9], "C_BALANCE", balance, &place("OL_AMOUNT less H_AMOUNT"), expected);
            let both = balance + row.int("paid")?;
            expect(&mut wrong[11], "C_BALANCE + C_YTD_PAYMENT", both, &place("OL_AMOUNT"), delivered);
        }
        Ok(())
    }

    /// What the delivered lines of a customer cost together.
    fn delivered_to(&self, customer: usize) -> Result<i64, Failure> {
        let own = self.orders.iter().filter(|it| it.1.int("customer") == Ok(customer as i64));
        let lines = own.filter_map(|it| self.lines.get(it.0)).flatten();
        sum(lines.filter(|it| it.int("delivered") != Ok(NONE)), "amount")
    }
}

fn sum<'r>(rows: impl IntoIterator<Item = &'r Record>, column: &str) -> Result<i64, Failure> {
    rows.into_iter().map(|it| it.int(column)).sum()
}

fn expect(wrong: &mut Vec<String>, left_is: &str, left: i64, right_is: &str, right: i64) {
    if left != right {
        wrong.push(format!("{left_is} is {left}, but {right_is} {right}"));
    }
}
