"""Tests of the shop on a weak PostgreSQL; conftest.py names the plugin.

    ISOSCOPE=target/release/isoscope pytest examples/apps/shop
"""

import psycopg
import pytest
import shop


def redeem_all(served, code, n_customers):
    """So many customers redeem a coupon, each with a connection of its own. Gives how many were told that they did."""
    n_redeemed = 0
    for customer in range(n_customers):
        with psycopg.connect(served.url, autocommit=True) as connection:
            n_redeemed += shop.redeem(connection, f"customer {customer}", code)
    return n_redeemed


@pytest.mark.isoscope(level="ser", schema="schema.sql", policy="latest")
def test_the_newest_versions_hide_the_bug(isoscope):
    assert redeem_all(isoscope, "VIP", 8) == 5


@pytest.mark.xfail(strict=True, reason="the bug of the shop: customers look at an old version of the coupon")
@pytest.mark.isoscope(level="cc", schema="schema.sql", seed=7)
def test_a_coupon_is_not_redeemed_more_often_than_it_may_be(isoscope):
    assert redeem_all(isoscope, "VIP", 8) <= 5
