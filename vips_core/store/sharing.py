"""Data sets that share people: what is known of them, and how they are kept apart after all."""

from collections.abc import Sequence

from vips_core.records import Sharded
from vips_core.records.samples import SAMPLES
from vips_core.store import declaration, people, pools
from vips_core.store.datasets import DataSets
from vips_core.store.people import Sources

_REFUSED = "no data sets may be separated"


class SharedBudgets(DataSets):
    """Which data sets share a budget because they share people, and which do not although they seem to."""

    def write_people(self, data: Sharded, sources: Sources) -> None:
        """Write beside shards who is in them, as digests that only this store can compare."""
        people.write_beside(data, sources, self._key())

    def people_beside(self, data: Sharded) -> Sources:
        """Return what `write_people` of this store wrote beside shards; `ValueError` where it did not."""
        return people.read_beside(data, self._key())

    def overlap_sentences(self, name: str) -> list[str]:
        """Say with which data sets this one shares its budget, and why: for the steward alone."""
        row = self.data_row(name)
        if not row.private:
            return []
        statement = "SELECT name FROM data WHERE fingerprint = ? AND name != ? ORDER BY created"
        same = [
            f"{name} holds the same records as {other['name']}: they share one cap and one spend."
            for other in self.database.read(statement, [row.fingerprint, name])
        ]
        return same + pools.overlap_sentences(self.ledger(name))

    def separations(self, name: str) -> list[str]:
        """Say which data sets this one was separated from although they share rows, by whom and why."""
        return [] if name in SAMPLES else pools.separations(self.ledger(name))

    def linked(self, name: str) -> list[str]:
        """Return what data sets were called last whose people are found in this one, and which may be left.

        Parameters
        ----------
        name
            Of a private data set; a public one shares no budget.

        Returns
        -------
        list of str
            Names that `separate_data` takes.
        """
        row = self.data_row(name)
        with self.database.lock, self.database.translated():
            connection = self.database.connection()
            pairs = [pair for pair, (shared, _) in people.ties(connection).items() if shared]
            others = [
                other for pair in pairs if row.fingerprint in pair for other in pair - {row.fingerprint}
            ]
            return sorted(people.names(connection, [other]) for other in others)

    def separate_data(self, name: str, others: Sequence[str], *, by: str, reason: str) -> None:
        """Give a data set a budget of its own again, because its people are not those of other data sets.

        That can be done until a run is counted for both. Each gets the cap back that it had before, unless
        the shared one was changed since.

        Parameters
        ----------
        name
            Of a private data set.
        others
            What the data sets are called, or were last, that it shares its budget with by mistake.
        by, reason
            Who decides it and why; both go into the ledger and into reports.
        """
        signature = declaration.author(by, reason)
        if not signature["by"] or not signature["reason"]:
            raise ValueError("data sets are separated with a name and a reason: say who decides it, and why")
        mark = self._data(name)["fingerprint"]
        with self.database.write() as connection:
            self._check_whole(connection, _REFUSED)
            rows = self._rows(connection, mark)
            apart = set[str]()
            for other in others:
                known = {row.fingerprint for row in rows if row.kind == "data" and row.data == other}
                if not known:
                    raise ValueError(f"{name} does not share its budget with {other!r}")
                if mark in known:
                    raise ValueError(f"{other} holds the same records as {name}: they share one budget")
                apart |= known
            called, author = ", ".join(others), {"by": signature["by"]}
            pools.separate(connection, mark, name, apart, called, signature["reason"], author)
        self.keep_head()
