-- txn: withdraw-where
CREATE TABLE accounts (id text PRIMARY KEY, balance int NOT NULL);
CREATE TABLE payouts (no int PRIMARY KEY, amount int NOT NULL);
INSERT INTO accounts VALUES ('x', 100);

-- transaction withdraw(no int, amount int)
BEGIN;
UPDATE accounts SET balance = balance - :amount WHERE id = 'x' AND balance >= :amount;
IF FOUND THEN
    INSERT INTO payouts (no, amount) VALUES (:no, :amount);
END IF;
COMMIT;

-- run withdraw(1, 60) || withdraw(2, 60)
-- invariant "no money is made": (SELECT balance FROM accounts WHERE id = 'x') + (SELECT sum(amount) FROM payouts) = 100
