"""What a pot has given so far, as a row: a booking reads that, however many calls have drawn on the pot.

Triggers keep the row. Whatever becomes of a call, and whichever run is put into a pot or forgotten, the sum changes in
the same transaction, so it is right whoever is killed in between.
"""

from __future__ import annotations

# As `calls.TURNED_AWAY` has them. A step is never changed, so they are written out.
_COUNTED = "{0}.outcome NOT IN ('rate_limited', 'unsupported')"
# Whole trillionths of a dollar: they add up exactly as long as a pot is below 9,000 dollars, in whichever order.
_NUMBERS = """
    round(coalesce({0}.booked_usd, 0) * 1000000000000)
"""
_NO_PRICE = "CASE WHEN {0}.booked_usd IS NULL THEN 1 ELSE 0 END"
_CHANGE = f"""
    UPDATE pot_sums SET calls = calls {{1}} 1, usd = usd {{1}} {_NUMBERS}, unpriced = unpriced {{1}} {_NO_PRICE}
    WHERE {_COUNTED} AND pot IN (SELECT pot FROM pots WHERE run = {{0}}.run);
"""  # noqa: S608
_TAKEN, _GIVEN_BACK = _CHANGE.format("new", "+"), _CHANGE.format("old", "-")
_OF_RUN = f"""
    UPDATE pot_sums SET
    calls = calls {{1}} (SELECT count(*) FROM calls c WHERE c.run = {{0}}.run AND {_COUNTED.format("c")}),
    usd = usd {{1}} (SELECT coalesce(sum({_NUMBERS.format("c")}), 0) FROM calls c
        WHERE c.run = {{0}}.run AND {_COUNTED.format("c")}),
    unpriced = unpriced {{1}} (SELECT coalesce(sum({_NO_PRICE.format("c")}), 0) FROM calls c
        WHERE c.run = {{0}}.run AND {_COUNTED.format("c")})
    WHERE pot = {{0}}.pot;
"""  # noqa: S608

STEP = (
    """
    CREATE TABLE pot_sums (
        pot TEXT PRIMARY KEY,
        calls INTEGER NOT NULL,
        usd REAL NOT NULL,
        unpriced INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    f"""
    INSERT INTO pot_sums SELECT pot, count(c.id), coalesce(sum({_NUMBERS.format("c")}), 0),
    coalesce(sum(CASE WHEN c.id IS NOT NULL THEN {_NO_PRICE.format("c")} ELSE 0 END), 0)
    FROM pots LEFT JOIN calls c ON c.run = pots.run AND {_COUNTED.format("c")} GROUP BY pot
    """,  # noqa: S608
    f"CREATE TRIGGER call_taken AFTER INSERT ON calls BEGIN {_TAKEN} END",
    f"CREATE TRIGGER call_given_back AFTER DELETE ON calls BEGIN {_GIVEN_BACK} END",
    f"CREATE TRIGGER call_changed AFTER UPDATE OF run, outcome, booked_usd ON calls BEGIN {_GIVEN_BACK} {_TAKEN} END",
    f"""
    CREATE TRIGGER run_put_in AFTER INSERT ON pots BEGIN
    INSERT INTO pot_sums VALUES (new.pot, 0, 0, 0) ON CONFLICT DO NOTHING; {_OF_RUN.format("new", "+")} END
    """,  # noqa: S608
    f"""
    CREATE TRIGGER run_taken_out AFTER DELETE ON pots BEGIN {_OF_RUN.format("old", "-")}
    DELETE FROM pot_sums WHERE pot = old.pot AND NOT EXISTS (SELECT 1 FROM pots WHERE pot = old.pot); END
    """,  # noqa: S608
    # How many items stand how is read from an index alone.
    "DROP INDEX items_turn",
    "CREATE INDEX items_turn ON items(batch, state, priority DESC, attempts, idx, short)",
)
"""The statements that make it, for a database that has calls already, too."""

TAKEN = """
    SELECT pot FROM pot_sums WHERE pot IN (SELECT pot FROM pots WHERE run IN (
    SELECT ? UNION ALL SELECT run FROM calls WHERE key = ? AND outcome IN ('lost', 'cancelled')
    )) ORDER BY pot /* FOR UPDATE */
"""
"""The pots of a run, and of those that have lost a call of this key. Whoever changes calls beside others takes these
first, in their order: so no two wait for each other, and what is read of a pot then holds as long as it is held."""
USED_WITH = """
    SELECT calls, usd / 1000000000000 AS usd FROM pot_sums
    WHERE pot = ?1 AND EXISTS (SELECT 1 FROM pots WHERE pot = ?1 AND run = ?2)
"""
"""What a pot has given, if a run is among those that draw on it."""
USED = "SELECT calls, usd / 1000000000000 AS usd, unpriced FROM pot_sums WHERE pot = ?"
