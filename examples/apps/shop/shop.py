"""A small shop on PostgreSQL: customers redeem coupons. It has a bug that no test of one customer finds.

    python3 shop.py setup            makes the tables
    python3 shop.py redeem ann SAVE10    redeems a coupon for a customer
    python3 shop.py audit            fails if a coupon was redeemed more often than it may be

It connects as libpq says: PGHOST, PGPORT, PGUSER, PGDATABASE.
"""

import sys

import psycopg

SCHEMA = """
DROP TABLE IF EXISTS redemptions, coupons;
CREATE TABLE coupons (code text PRIMARY KEY, uses_left int NOT NULL);
CREATE TABLE redemptions (id serial PRIMARY KEY, code text NOT NULL REFERENCES coupons, customer text NOT NULL);
INSERT INTO coupons VALUES ('SAVE10', 2), ('VIP', 5);
"""


def redeem(connection, customer, code):
    """Redeems a coupon, if it has uses left. Says whether it did."""
    with connection.transaction():
        row = connection.execute("SELECT uses_left FROM coupons WHERE code = %s", (code,)).fetchone()
        if row is None or row[0] == 0:
            return False
        # The bug: somebody else may have redeemed it since it was looked at.
        connection.execute("UPDATE coupons SET uses_left = %s WHERE code = %s", (row[0] - 1, code))
        connection.execute("INSERT INTO redemptions (code, customer) VALUES (%s, %s)", (code, customer))
    return True


def audit(connection):
    """No coupon is redeemed more often than it had uses."""
    with connection.transaction():
        uses = {"SAVE10": 2, "VIP": 5}
        for code, left in connection.execute("SELECT code, uses_left FROM coupons ORDER BY code").fetchall():
            found = connection.execute("SELECT count(*) FROM redemptions WHERE code = %s", (code,)).fetchone()[0]
            assert found == uses[code] - left, f"{code} was redeemed {found} times, and {left} of {uses[code]} uses are left"


def main():
    what, *arguments = sys.argv[1:]
    with psycopg.connect(autocommit=True) as connection:
        if what == "setup":
            connection.execute(SCHEMA)
        elif what == "redeem":
            print("redeemed" if redeem(connection, *arguments) else "no uses left")
        elif what == "audit":
            audit(connection)
            print("every coupon is right")
        else:
            sys.exit(f"there is no `{what}`; choose setup, redeem or audit")


if __name__ == "__main__":
    main()
