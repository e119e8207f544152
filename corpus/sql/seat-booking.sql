-- txn: seat-booking
CREATE TABLE seats (no int PRIMARY KEY CHECK (no BETWEEN 1 AND 2), taken boolean NOT NULL DEFAULT false);
CREATE TABLE tickets (who text PRIMARY KEY, seat int NOT NULL);
INSERT INTO seats (no) VALUES (1), (2);

-- transaction book(who text)
BEGIN;
SELECT taken INTO first_taken FROM seats WHERE no = 1;
IF NOT first_taken THEN
    UPDATE seats SET taken = true WHERE no = 1;
    INSERT INTO tickets VALUES (:who, 1);
ELSE
    SELECT taken INTO second_taken FROM seats WHERE no = 2;
    IF NOT second_taken THEN
        UPDATE seats SET taken = true WHERE no = 2;
        INSERT INTO tickets VALUES (:who, 2);
    END IF;
END IF;
COMMIT;

-- run book('ann') || book('bob') || book('cat')
-- invariant "a seat is sold once": NOT EXISTS (SELECT 1 FROM tickets t WHERE (SELECT count(*) FROM tickets other WHERE other.seat = t.seat) > 1)
