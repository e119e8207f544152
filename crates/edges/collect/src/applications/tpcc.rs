//! TPC-C, small: a wholesale supplier who takes, delivers and is paid for orders.
//!
//! Source: TPC Benchmark C, revision 5.11, clauses 1 and 2. We differ: one warehouse, two districts of three customers,
//! four items; customers are named by number, all stock is at home, and an order has one to three lines.

mod conditions;

use crate::{Application, Assertion, Client, Failure, Random, Record, Row, Slot, Transaction};
use std::fmt;

const DISTRICTS: usize = 2;
const CUSTOMERS: usize = 3;
const ITEMS: usize = 4;
const MAX_LINES: usize = 3;
/// Orders of each district that were delivered before the run; the next one is still to be delivered.
const DELIVERED: usize = 1;
/// What each customer has paid before.
const PAID: i64 = 10;
/// The column of a row that nothing is known about yet.
const NONE: i64 = 0;

/// The supplier.
#[derive(Debug)]
pub(super) struct Tpcc;

#[derive(Clone, Copy, Debug)]
enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

/// Clause 5.2.3: the least shares of a mix; the rest are new orders.
const MIX: [(usize, Kind); 5] =
    [(45, Kind::NewOrder), (43, Kind::Payment), (4, Kind::OrderStatus), (4, Kind::Delivery), (4, Kind::StockLevel)];

#[derive(Debug)]
enum Call {
    NewOrder { district: usize, customer: usize, lines: Vec<Line> },
    Payment { district: usize, customer: usize, amount: i64, entry: Slot },
    OrderStatus { district: usize, customer: usize },
    Delivery { carrier: usize },
    StockLevel { district: usize },
}

#[derive(Debug)]
struct Line {
    item: usize,
    quantity: i64,
}

/// Keys sort as their numbers do.
fn order_key(district: usize, order: i64) -> String {
    format!("{district}.{order:04}")
}

fn line_key(district: usize, order: i64, line: usize) -> String {
    format!("{district}.{order:04}.{line}")
}

fn customer_key(district: usize, customer: impl fmt::Display) -> String {
    format!("{district}.{customer}")
}

/// The number of the order in the key of an order.
fn order_of(key: &str) -> Result<i64, Failure> {
    let number = key.split('.').nth(1).and_then(|it| it.parse().ok());
    number.ok_or_else(|| Failure::broken(format!("`{key}` is no key of an order")))
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewOrder { district, customer, lines } => {
                let lines: Vec<String> = lines.iter().map(|it| format!("{}x{}", it.quantity, it.item)).collect();
                write!(f, "NewOrder({district},{customer},{})", lines.join("+"))
            }
            Self::Payment { district, customer, amount, .. } => write!(f, "Payment({district},{customer},{amount})"),
            Self::OrderStatus { district, customer } => write!(f, "OrderStatus({district},{customer})"),
            Self::Delivery { carrier } => write!(f, "Delivery({carrier})"),
            Self::StockLevel { district } => write!(f, "StockLevel({district})"),
        }
    }
}

impl Transaction for Call {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self {
            Self::NewOrder { district, customer, lines } => new_order(client, *district, *customer, lines),
            Self::Payment { district, customer, amount, entry } => {
                payment(client, *district, *customer, *amount, *entry)
            }
            Self::OrderStatus { district, customer } => order_status(client, *district, *customer),
            Self::Delivery { carrier } => (1..=DISTRICTS).try_for_each(|it| deliver(client, it, *carrier)),
            Self::StockLevel { district } => stock_level(client, *district),
        }
    }
}

/// Clause 2.4.
fn new_order(client: &mut dyn Client, district: usize, customer: usize, lines: &[Line]) -> Result<(), Failure> {
    let warehouse_tax = client.record("warehouse", 1)?.int("tax")?;
    let taken = client.record("district", district)?;
    let tax = warehouse_tax + taken.int("tax")?;
    let order = taken.int("next")?;
    client.change_from("district", district, taken, |it| it.add("next", 1))?;
    let discount = client.record("customer", customer_key(district, customer))?.int("discount")?;
    let row = Record::new().with("customer", customer).with("carrier", NONE).with("lines", lines.len());
    client.add("order", order_key(district, order), row)?;
    client.add("new-order", order_key(district, order), order)?;
    for (nth, line) in lines.iter().enumerate() {
        let price = client.record("item", line.item)?.int("price")?;
        let stock = client.record("stock", line.item)?;
        let left = stock.int("quantity")? - line.quantity;
        client.change_from("stock", line.item, stock, |it| {
            it.set("quantity", if left >= 10 { left } else { left + 91 });
            it.add("ytd", line.quantity)?;
            it.add("orders", 1)
        })?;
        // In cents, so that no share of it is lost.
        let amount = price * line.quantity * (100 + tax) * (100 - discount) / 100;
        let row = Record::new().with("item", line.item).with("quantity", line.quantity).with("amount", amount);
        client.add("line", line_key(district, order, nth + 1), row.with("delivered", NONE))?;
    }
    Ok(())
}

/// Clause 2.5.
fn payment(client: &mut dyn Client, district: usize, customer: usize, amount: i64, entry: Slot) -> Result<(), Failure> {
    for (table, row) in [("warehouse", 1), ("district", district)] {
        let receiver = client.record(table, row)?;
        client.change_from(table, row, receiver, |it| it.add("ytd", amount))?;
    }
    let mut payer = client.record("customer", customer_key(district, customer))?;
    payer.add("balance", -amount)?;
    payer.add("paid", amount)?;
    payer.add("payments", 1)?;
    client.write("customer", customer_key(district, customer), payer)?;
    client.add("history", entry, paid(district, customer, amount))
}

fn paid(district: usize, customer: usize, amount: i64) -> Record {
    Record::new().with("district", district).with("customer", customer).with("amount", amount)
}

/// Clause 2.6.
fn order_status(client: &mut dyn Client, district: usize, customer: usize) -> Result<(), Failure> {
    client.record("customer", customer_key(district, customer))?;
    let mut last = None;
    for (key, order) in client.records("order", format!("{district}."))? {
        if order.int("customer")? == customer as i64 {
            last = Some(key);
        }
    }
    if let Some(order) = last {
        client.records("line", format!("{order}."))?;
    }
    Ok(())
}

/// Clause 2.7, for one district: delivers its oldest order, if there is one.
fn deliver(client: &mut dyn Client, district: usize, carrier: usize) -> Result<(), Failure> {
    let Some((key, _)) = client.ints("new-order", format!("{district}."))?.into_iter().next() else { return Ok(()) };
    client.remove("new-order", &key)?;
    let order = client.record("order", &key)?;
    let customer = customer_key(district, order.int("customer")?);
    client.change_from("order", &key, order, |it| {
        it.set("carrier", carrier);
        Ok(())
    })?;
    let mut amount = 0;
    for (line, row) in client.records("line", format!("{key}."))? {
        amount += row.int("amount")?;
        client.change_from("line", line, row, |it| {
            it.set("delivered", 1);
            Ok(())
        })?;
    }
    let receiver = client.record("customer", &customer)?;
    client.change_from("customer", customer, receiver, |it| {
        it.add("balance", amount)?;
        it.add("deliveries", 1)
    })?;
    Ok(())
}

/// Clause 2.8.
fn stock_level(client: &mut dyn Client, district: usize) -> Result<(), Failure> {
    let next = client.record("district", district)?.int("next")?;
    let mut items = Vec::new();
    for (key, line) in client.records("line", format!("{district}."))? {
        if order_of(&key)? >= next - 20 {
            items.push(line.int("item")?);
        }
    }
    items.sort_unstable();
    items.dedup();
    // How many of them are low is for the person who asks.
    items.into_iter().try_for_each(|it| client.record("stock", it).map(|_| ()))
}

impl Application for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn about(&self) -> &'static str {
        "TPC-C, small: a supplier who takes, delivers and is paid for orders; its twelve consistency conditions"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["customer", "district", "history", "item", "line", "new-order", "order", "stock", "warehouse"]
    }

    fn rows(&self) -> Vec<Row> {
        let n_customers = (DISTRICTS * CUSTOMERS) as i64;
        let mut rows = vec![Row::new("warehouse", 1, Record::new().with("tax", 8).with("ytd", PAID * n_customers))];
        for item in 1..=ITEMS {
            rows.push(Row::new("item", item, Record::new().with("price", 3 + 2 * item)));
            let stock = Record::new().with("quantity", 50 + item).with("ytd", 0).with("orders", 0);
            rows.push(Row::new("stock", item, stock));
        }
        (1..=DISTRICTS).for_each(|it| district_rows(it, &mut rows));
        rows
    }

    fn transaction(&self, slot: Slot, random: &mut Random) -> Box<dyn Transaction> {
        let kind = random.weighted(&MIX);
        let (district, customer) = (random.one_to(DISTRICTS), random.one_to(CUSTOMERS));
        Box::new(match kind {
            Kind::NewOrder => Call::NewOrder { district, customer, lines: order_lines(random) },
            Kind::Payment => Call::Payment { district, customer, amount: random.amount(1, 5000), entry: slot },
            Kind::OrderStatus => Call::OrderStatus { district, customer },
            Kind::Delivery => Call::Delivery { carrier: random.one_to(10) },
            Kind::StockLevel => Call::StockLevel { district },
        })
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        conditions::conditions(state)
    }
}

fn district_rows(district: usize, rows: &mut Vec<Row>) {
    let next = DELIVERED + 2;
    let row = Record::new().with("tax", 5 + district).with("ytd", PAID * CUSTOMERS as i64).with("next", next);
    rows.push(Row::new("district", district, row));
    for customer in 1..=CUSTOMERS {
        let row = Record::new().with("discount", customer).with("balance", -PAID).with("paid", PAID);
        let row = row.with("payments", 1).with("deliveries", 0);
        rows.push(Row::new("customer", customer_key(district, customer), row));
        rows.push(Row::new("history", customer_key(district, customer), paid(district, customer, PAID)));
    }
    for order in 1..next {
        let is_delivered = order <= DELIVERED;
        let (carrier, delivered) = if is_delivered { (1, 1) } else { (NONE, NONE) };
        let key = order_key(district, order as i64);
        let row = Record::new().with("customer", order).with("carrier", carrier).with("lines", 1);
        rows.push(Row::new("order", &key, row));
        if !is_delivered {
            rows.push(Row::new("new-order", &key, order));
        }
        // Clause 4.3.3.1: what was delivered before the run costs nothing.
        let amount = if is_delivered { 0 } else { 700 };
        let row = Record::new().with("item", 1).with("quantity", 5).with("amount", amount).with("delivered", delivered);
        rows.push(Row::new("line", line_key(district, order as i64, 1), row));
    }
}

/// Clause 2.4.1.4: one order in a hundred has an item that does not exist, which is found at its last line.
fn order_lines(random: &mut Random) -> Vec<Line> {
    let n_lines = random.one_to(MAX_LINES);
    let mut lines: Vec<Line> =
        (0..n_lines).map(|_| Line { item: random.one_to(ITEMS), quantity: random.amount(1, 10) }).collect();
    if random.below(100) == 0
        && let Some(last) = lines.last_mut()
    {
        last.item = ITEMS + 1;
    }
    lines
}
