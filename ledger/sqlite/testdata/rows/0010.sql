-- A view: it has no rows of its own.
SELECT count(*) FROM partner_notices;
