-- The tables of the shop, and what it has to sell.
CREATE TABLE products (name text PRIMARY KEY, stock int NOT NULL);
CREATE TABLE orders (id serial PRIMARY KEY, product text NOT NULL REFERENCES products, customer text NOT NULL, n int NOT NULL);
INSERT INTO products VALUES ('lamp', 5), ('chair', 20);
