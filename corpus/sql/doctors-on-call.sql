-- txn: doctors-on-call
CREATE TABLE doctors (name text PRIMARY KEY CHECK (name IN ('alice', 'bob')), on_call boolean NOT NULL);
INSERT INTO doctors VALUES ('alice', true), ('bob', true);

-- transaction go_home(me text)
BEGIN;
SELECT count(*) INTO n FROM doctors WHERE on_call;
IF n >= 2 THEN
    UPDATE doctors SET on_call = false WHERE name = :me;
END IF;
COMMIT;

-- run go_home('alice') || go_home('bob')
-- invariant "somebody is on call": EXISTS (SELECT 1 FROM doctors WHERE on_call)
