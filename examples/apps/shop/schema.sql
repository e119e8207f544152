-- The tables of the shop, and its coupons.
CREATE TABLE coupons (code text PRIMARY KEY, uses_left int NOT NULL);
CREATE TABLE redemptions (id serial PRIMARY KEY, code text NOT NULL REFERENCES coupons, customer text NOT NULL);
INSERT INTO coupons VALUES ('SAVE10', 2), ('VIP', 5);
