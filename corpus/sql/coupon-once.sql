-- txn: coupon-once
CREATE TABLE redeemed (coupon text PRIMARY KEY, owner text NOT NULL);
CREATE TABLE orders (who text PRIMARY KEY, discount int NOT NULL);

-- transaction place_order(who text, coupon text)
BEGIN;
INSERT INTO redeemed VALUES ($2, $1) ON CONFLICT DO NOTHING;
IF row_count() = 1 THEN
    INSERT INTO orders VALUES ($1, 10);
ELSE
    INSERT INTO orders VALUES ($1, 0);
END IF;
COMMIT;

-- run place_order('ann', 'ten off') || place_order('bob', 'ten off')
-- invariant "a coupon counts once": (SELECT sum(discount) FROM orders) = 10
