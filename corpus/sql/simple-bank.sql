-- txn: simple-bank
CREATE TABLE accounts (id text PRIMARY KEY, balance int NOT NULL);
INSERT INTO accounts VALUES ('x', 60), ('y', 60);

-- transaction withdraw(source text, amount int)
BEGIN;
SELECT sum(balance) INTO total FROM accounts;
IF total > :amount THEN
    UPDATE accounts SET balance = balance - :amount WHERE id = :source;
END IF;
COMMIT;

-- run withdraw('x', 100) || withdraw('y', 100)
-- invariant "together not below zero": (SELECT sum(balance) FROM accounts) > 0
