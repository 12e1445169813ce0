"""What a pot has given so far, as a row: a booking reads that, however many calls have drawn on the pot.

Triggers in `schema.sql` keep the row. Whatever becomes of a call, and whichever run is put into a pot or forgotten, the
sum changes in the same transaction, so it is right whoever is killed in between.
"""

from __future__ import annotations

TAKEN = """
    SELECT pot FROM pot_sums WHERE pot IN (SELECT pot FROM pots WHERE run IN (
    SELECT ? UNION ALL SELECT run FROM calls WHERE key = ? AND outcome IN ('lost', 'cancelled')
    )) ORDER BY pot
"""
"""The pots of a run, and of those that have lost a call of this key. Whoever changes calls beside others takes these
first, in their order: so no two wait for each other, and what is read of a pot then holds as long as it is held."""
USED_WITH = """
    SELECT calls, usd / 1000000000000 AS usd FROM pot_sums
    WHERE pot = :pot AND EXISTS (SELECT 1 FROM pots WHERE pot = :pot AND run = :run)
"""
"""What a pot has given, if a run is among those that draw on it."""
USED = "SELECT calls, usd / 1000000000000 AS usd, unpriced FROM pot_sums WHERE pot = ?"
