-- txn: courseware-b1
CREATE TABLE courses (id int PRIMARY KEY, name text NOT NULL);

-- transaction add_course(id int, name text)
BEGIN;
SELECT EXISTS (SELECT 1 FROM courses c WHERE c.name = :name) INTO is_taken;
IF NOT is_taken THEN
    INSERT INTO courses VALUES (:id, :name);
END IF;
COMMIT;

-- run add_course(1, 'logic') || add_course(2, 'logic')
-- invariant "names are unique": NOT EXISTS (SELECT 1 FROM courses c WHERE (SELECT count(*) FROM courses o WHERE o.name = c.name) <> 1)
