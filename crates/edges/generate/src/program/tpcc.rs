//! An order entry system in the manner of TPC-C: its five transactions on warehouses, districts, customers and stock.
//!
//! A row is a key. Each session has its home warehouse, where most of its transactions stay. Orders are new keys.

use super::{Program, Rows};
use crate::plan::Plan;
use crate::random::Random;
use std::collections::VecDeque;

const N_DISTRICTS: usize = 10;
/// Customers of a district.
const N_CUSTOMERS: usize = 30;
/// Kinds of goods that a warehouse has.
const N_STOCK: usize = 200;
/// Rows of a warehouse: itself, its districts, their customers, its stock.
const N_ROWS: usize = 1 + N_DISTRICTS * (1 + N_CUSTOMERS) + N_STOCK;

#[derive(Clone, Copy, Debug)]
struct Order {
    row: u32,
    customer: u32,
}

#[derive(Debug)]
pub(crate) struct Tpcc {
    n_warehouses: usize,
    rows: Rows,
    /// Of each district the orders that are not delivered.
    waiting: Vec<VecDeque<Order>>,
    /// Of each district the last order.
    last: Vec<Option<Order>>,
}

impl Tpcc {
    pub(crate) fn new(n_keys: usize) -> Self {
        let n_warehouses = (n_keys / N_ROWS).max(1);
        let n_districts = n_warehouses * N_DISTRICTS;
        Self {
            n_warehouses,
            rows: Rows::after((n_warehouses * N_ROWS) as u32),
            waiting: vec![VecDeque::new(); n_districts],
            last: vec![None; n_districts],
        }
    }

    fn new_order(&mut self, place: Place, random: &mut Random, plan: &mut Plan) {
        let order = Order { row: self.rows.add(), customer: place.customer(random) };
        plan.read(place.warehouse());
        plan.update(place.district());
        plan.read(order.customer);
        for _ in 0..5 + random.below(6) {
            plan.update(place.stock(random));
        }
        plan.write(order.row);
        self.waiting[place.district_idx()].push_back(order);
        self.last[place.district_idx()] = Some(order);
    }

    fn payment(place: Place, customer: u32, plan: &mut Plan) {
        plan.update(place.warehouse());
        plan.update(place.district());
        plan.update(customer);
    }

    fn order_status(&self, place: Place, random: &mut Random, plan: &mut Plan) {
        match self.last[place.district_idx()] {
            Some(Order { row, customer }) => {
                plan.read(customer);
                plan.read(row);
            }
            None => plan.read(place.customer(random)),
        }
    }

    fn delivery(&mut self, place: Place, plan: &mut Plan) {
        plan.read(place.warehouse());
        for district in 0..N_DISTRICTS {
            let there = Place { district, ..place };
            if let Some(Order { row, customer }) = self.waiting[there.district_idx()].pop_front() {
                plan.update(row);
                plan.update(customer);
            }
        }
    }

    fn stock_level(place: Place, random: &mut Random, plan: &mut Plan) {
        plan.read(place.district());
        for _ in 0..10 {
            plan.read(place.stock(random));
        }
    }
}

impl Program for Tpcc {
    fn plan(&mut self, session: usize, random: &mut Random, plan: &mut Plan) {
        let place = Place { warehouse: session % self.n_warehouses, district: random.below(N_DISTRICTS) };
        match random.below(100) {
            0..45 => self.new_order(place, random, plan),
            45..88 => {
                // Some pay elsewhere than at home.
                let warehouse = if random.chance(15) { random.below(self.n_warehouses) } else { place.warehouse };
                let customer = Place { warehouse, ..place }.customer(random);
                Self::payment(place, customer, plan);
            }
            88..92 => self.order_status(place, random, plan),
            92..96 => self.delivery(place, plan),
            _ => Self::stock_level(place, random, plan),
        }
    }

    fn n_keys(&self) -> u32 {
        (self.n_warehouses * N_ROWS) as u32
    }
}

/// A district of a warehouse.
#[derive(Clone, Copy, Debug)]
struct Place {
    warehouse: usize,
    district: usize,
}

impl Place {
    fn row(self, idx: usize) -> u32 {
        (self.warehouse * N_ROWS + idx) as u32
    }

    fn warehouse(self) -> u32 {
        self.row(0)
    }

    fn district(self) -> u32 {
        self.row(1 + self.district)
    }

    fn customer(self, random: &mut Random) -> u32 {
        self.row(1 + N_DISTRICTS + self.district * N_CUSTOMERS + random.below(N_CUSTOMERS))
    }

    fn stock(self, random: &mut Random) -> u32 {
        self.row(1 + N_DISTRICTS * (1 + N_CUSTOMERS) + random.below(N_STOCK))
    }

    fn district_idx(self) -> usize {
        self.warehouse * N_DISTRICTS + self.district
    }
}
