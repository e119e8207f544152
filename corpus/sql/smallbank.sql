-- txn: smallbank
CREATE TABLE savings (customer text PRIMARY KEY, balance int NOT NULL);
CREATE TABLE checking (customer text PRIMARY KEY, balance int NOT NULL, fined boolean NOT NULL DEFAULT false);
CREATE TABLE statements (customer text PRIMARY KEY, total int NOT NULL);
INSERT INTO savings VALUES ('ann', 0);
INSERT INTO checking (customer, balance) VALUES ('ann', 0);

-- transaction transact_savings(customer text, amount int)
BEGIN;
SELECT balance INTO old FROM savings WHERE customer = :customer;
IF old + :amount < 0 THEN
    ROLLBACK;
END IF;
UPDATE savings SET balance = balance + :amount WHERE customer = :customer;
COMMIT;

-- transaction write_check(customer text, amount int)
BEGIN;
SELECT balance INTO saved FROM savings WHERE customer = :customer;
SELECT balance INTO available FROM checking WHERE customer = :customer;
IF saved + available < :amount THEN
    UPDATE checking SET balance = balance - (:amount + 1), fined = true WHERE customer = :customer;
ELSE
    UPDATE checking SET balance = balance - :amount WHERE customer = :customer;
END IF;
COMMIT;

-- transaction balance_of(customer text)
BEGIN;
SELECT balance INTO saved FROM savings WHERE customer = :customer;
SELECT balance INTO available FROM checking WHERE customer = :customer;
INSERT INTO statements VALUES (:customer, saved + available);
COMMIT;

-- run transact_savings('ann', 20) || write_check('ann', 10) || balance_of('ann')
-- invariant "no fine after a statement that covers the cheque": NOT ((SELECT total FROM statements WHERE customer = 'ann') >= 10 AND (SELECT fined FROM checking WHERE customer = 'ann'))
