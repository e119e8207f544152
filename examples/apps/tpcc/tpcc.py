"""TPC-C's five transactions on PostgreSQL, on a small warehouse: does an application of that kind lose updates?

    python3 tpcc.py run --sessions 3 --transactions 20 --seed 1
    python3 tpcc.py run --in-place          adds to sums in the UPDATE itself, and locks the district's next number

Rows are read and written as the benchmark's sample programs do it: a value is read, and what is computed from it is
written back. Customers are chosen by number, items never by an unused number, and texts are short. Transactions that the
database refuses are tried again. What must hold in the end is in `audit`, the benchmark's first four conditions.

It connects as libpq says: PGHOST, PGPORT, PGUSER, PGDATABASE.
"""

import argparse
import random
import sys
import threading

import psycopg

SCHEMA = """
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_tax int NOT NULL, w_ytd int NOT NULL);
CREATE TABLE district (d_w_id int, d_id int, d_tax int NOT NULL, d_ytd int NOT NULL, d_next_o_id int NOT NULL,
  PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_balance int NOT NULL, c_ytd_payment int NOT NULL,
  c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (h_c_id int, h_d_id int, h_w_id int, h_amount int);
CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int NOT NULL, o_carrier_id int, o_ol_cnt int NOT NULL,
  PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int NOT NULL,
  ol_quantity int NOT NULL, ol_amount int NOT NULL, ol_delivered bool NOT NULL,
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE item (i_id int PRIMARY KEY, i_price int NOT NULL);
CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int NOT NULL, s_ytd int NOT NULL, s_order_cnt int NOT NULL,
  PRIMARY KEY (s_w_id, s_i_id));
INSERT INTO warehouse VALUES (1, 5, 0);
INSERT INTO district SELECT 1, d, 3, 0, 1 FROM generate_series(1, 2) d;
INSERT INTO customer SELECT 1, d, c, 0, 0, 0, 0 FROM generate_series(1, 2) d, generate_series(1, 3) c;
INSERT INTO item SELECT i, 10 + i FROM generate_series(1, 5) i;
INSERT INTO stock SELECT 1, i, 50, 0, 0 FROM generate_series(1, 5) i;
"""
TABLES = "warehouse, district, customer, history, orders, new_order, order_line, item, stock"
N_DISTRICTS, N_CUSTOMERS, N_ITEMS = 2, 3, 5


class Terminal:
    """One of those who enter transactions."""

    def __init__(self, connection, dice, in_place):
        self.connection, self.dice, self.in_place = connection, dice, in_place

    def one(self, sql, *values):
        return self.connection.execute(sql, values).fetchone()

    def all(self, sql, *values):
        return self.connection.execute(sql, values).fetchall()

    def run(self, sql, *values):
        self.connection.execute(sql, values)

    def add(self, table, column, amount, where, *key):
        """Adds to a sum: by reading it and writing it back, or in one statement."""
        if self.in_place:
            self.run(f"UPDATE {table} SET {column} = {column} + %s WHERE {where}", amount, *key)
        else:
            (before,) = self.one(f"SELECT {column} FROM {table} WHERE {where}", *key)
            self.run(f"UPDATE {table} SET {column} = %s WHERE {where}", before + amount, *key)

    def new_order(self):
        district, customer = self.dice.randint(1, N_DISTRICTS), self.dice.randint(1, N_CUSTOMERS)
        items = sorted(self.dice.sample(range(1, N_ITEMS + 1), self.dice.randint(1, 3)))
        (tax,) = self.one("SELECT w_tax FROM warehouse WHERE w_id = 1")
        lock = " FOR UPDATE" if self.in_place else ""
        (number,) = self.one(f"SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = %s{lock}", district)
        self.run("UPDATE district SET d_next_o_id = %s WHERE d_w_id = 1 AND d_id = %s", number + 1, district)
        self.run("INSERT INTO orders VALUES (1, %s, %s, %s, NULL, %s)", district, number, customer, len(items))
        self.run("INSERT INTO new_order VALUES (1, %s, %s)", district, number)
        for line, item in enumerate(items, 1):
            (price,) = self.one("SELECT i_price FROM item WHERE i_id = %s", item)
            quantity = self.dice.randint(1, 5)
            if self.in_place:
                self.run(
                    "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= %s + 10 THEN s_quantity - %s ELSE s_quantity - %s + 91 "
                    "END, s_ytd = s_ytd + %s, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = 1 AND s_i_id = %s",
                    quantity, quantity, quantity, quantity, item,
                )
            else:
                left, ytd, count = self.one(
                    "SELECT s_quantity, s_ytd, s_order_cnt FROM stock WHERE s_w_id = 1 AND s_i_id = %s", item
                )
                left = left - quantity if left >= quantity + 10 else left - quantity + 91
                self.run(
                    "UPDATE stock SET s_quantity = %s, s_ytd = %s, s_order_cnt = %s WHERE s_w_id = 1 AND s_i_id = %s",
                    left, ytd + quantity, count + 1, item,
                )
            amount = quantity * price * (100 + tax) // 100
            self.run(
                "INSERT INTO order_line VALUES (1, %s, %s, %s, %s, %s, %s, false)",
                district, number, line, item, quantity, amount,
            )

    def payment(self):
        district, customer = self.dice.randint(1, N_DISTRICTS), self.dice.randint(1, N_CUSTOMERS)
        amount = self.dice.randint(1, 50)
        self.add("warehouse", "w_ytd", amount, "w_id = 1")
        self.add("district", "d_ytd", amount, "d_w_id = 1 AND d_id = %s", district)
        self.add("customer", "c_balance", -amount, "c_w_id = 1 AND c_d_id = %s AND c_id = %s", district, customer)
        self.run("INSERT INTO history VALUES (%s, %s, 1, %s)", customer, district, amount)

    def order_status(self):
        district, customer = self.dice.randint(1, N_DISTRICTS), self.dice.randint(1, N_CUSTOMERS)
        self.one("SELECT c_balance FROM customer WHERE c_w_id = 1 AND c_d_id = %s AND c_id = %s", district, customer)
        last = self.one("SELECT max(o_id) FROM orders WHERE o_w_id = 1 AND o_d_id = %s AND o_c_id = %s", district, customer)
        if last[0] is not None:
            self.all("SELECT * FROM order_line WHERE ol_w_id = 1 AND ol_d_id = %s AND ol_o_id = %s", district, last[0])

    def delivery(self):
        for district in range(1, N_DISTRICTS + 1):
            (number,) = self.one("SELECT min(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = %s", district)
            if number is None:
                continue
            self.run("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = %s AND no_o_id = %s", district, number)
            row = self.one("SELECT o_c_id FROM orders WHERE o_w_id = 1 AND o_d_id = %s AND o_id = %s", district, number)
            if row is None:
                continue
            carrier = self.dice.randint(1, 10)
            self.run(
                "UPDATE orders SET o_carrier_id = %s WHERE o_w_id = 1 AND o_d_id = %s AND o_id = %s", carrier, district, number
            )
            lines = "ol_w_id = 1 AND ol_d_id = %s AND ol_o_id = %s"
            (total,) = self.one(f"SELECT sum(ol_amount) FROM order_line WHERE {lines}", district, number)
            self.run(f"UPDATE order_line SET ol_delivered = true WHERE {lines}", district, number)
            self.add(
                "customer", "c_balance", int(total or 0), "c_w_id = 1 AND c_d_id = %s AND c_id = %s", district, row[0]
            )

    def stock_level(self):
        district = self.dice.randint(1, N_DISTRICTS)
        (number,) = self.one("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = %s", district)
        lines = self.all(
            "SELECT ol_i_id FROM order_line WHERE ol_w_id = 1 AND ol_d_id = %s AND ol_o_id >= %s", district, number - 20
        )
        for item in sorted({it[0] for it in lines}):
            self.one("SELECT s_quantity FROM stock WHERE s_w_id = 1 AND s_i_id = %s", item)

    def work(self, n_transactions, outcomes):
        kinds = [self.new_order] * 10 + [self.payment] * 10 + [self.order_status, self.delivery, self.stock_level]
        for _ in range(n_transactions):
            kind = self.dice.choice(kinds)
            for _ in range(20):
                try:
                    with self.connection.transaction():
                        kind()
                    outcomes.append("committed")
                    break
                except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                    outcomes.append("refused")
                except psycopg.errors.UniqueViolation:
                    # Two orders got the same number: an update of the district's next one was lost.
                    outcomes.append("order number taken")
                    break


def audit(connection):
    """The benchmark's conditions on the newest state; gives what does not hold."""
    # What is locked is the newest version at every level.
    rows = {
        table: connection.execute(f"SELECT * FROM {table} FOR UPDATE").fetchall()
        for table in ["warehouse", "district", "orders", "new_order", "order_line"]
    }
    broken = []
    w_ytd, d_ytd = rows["warehouse"][0][2], sum(it[3] for it in rows["district"])
    if w_ytd != d_ytd:
        broken.append(f"1: the warehouse took {w_ytd}, and its districts {d_ytd}")
    for _, district, _, _, next_number in sorted(rows["district"]):
        orders = [it for it in rows["orders"] if it[1] == district]
        last = max((it[2] for it in orders), default=0)
        if last != next_number - 1:
            broken.append(f"2: the last order of district {district} is {last}, and the next one {next_number}")
        new = sorted(it[2] for it in rows["new_order"] if it[1] == district)
        if new and new[-1] - new[0] + 1 != len(new):
            broken.append(f"3: new orders of district {district} have gaps: {new}")
        lines = [it for it in rows["order_line"] if it[1] == district]
        if sum(it[5] for it in orders) != len(lines):
            broken.append(f"4: orders of district {district} have {len(lines)} lines, and not what they say")
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["setup", "run"])
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--transactions", type=int, default=20, help="of each session")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-place", action="store_true", help="no value is read that the same transaction writes back")
    asked = parser.parse_args()
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {TABLES}")
        connection.execute(SCHEMA)
        connection.execute("SET isoscope.run = 'start'")
        if asked.what == "setup":
            return
        outcomes, threads = [], []
        connections = [psycopg.connect(autocommit=True) for _ in range(asked.sessions)]
        for nth, one in enumerate(connections):
            terminal = Terminal(one, random.Random(asked.seed * 1000 + nth), asked.in_place)
            threads.append(threading.Thread(target=terminal.work, args=(asked.transactions, outcomes)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in connections:
            one.close()
        with connection.transaction():
            broken = audit(connection)
    counts = {it: outcomes.count(it) for it in sorted(set(outcomes))}
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    print("\n".join(broken) if broken else "all conditions hold")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
