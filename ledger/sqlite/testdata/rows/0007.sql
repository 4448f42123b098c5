-- An index only: 0001.sql has a row for it.
SELECT 1;
