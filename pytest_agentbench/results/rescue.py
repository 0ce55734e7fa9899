"""Records that the run directory would not take: kept elsewhere, so that nothing is lost.

A disk that fills up, or is remounted read-only, while trials run must not cost
what was already paid for.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_agentbench.errors import StoreError
from pytest_agentbench.model.record import Record
from pytest_agentbench.results.store import RecordStore


class RescueStore:
    """A record store whose ``append`` never fails.

    From the first record that the run directory refuses, all go to a file in the
    temporary directory, in order; what not even that takes stays in memory.
    ``close`` offers them to the run directory once more, since by then the
    sandboxes are gone and there may be room. ``trouble`` says what happened.
    """

    def __init__(self, path: Path, *, temporary: Path | None = None) -> None:
        self._path = path
        self._temporary = temporary
        self._store = RecordStore(path)
        self._rescue: RecordStore | None = None
        self._rescue_path: Path | None = None
        self._all: list[Record] = []
        self._deleted = False
        self._displaced: list[Record] = []
        self._saved = 0
        self._cause = ""
        self._returned = 0

    def append(self, record: Record) -> None:
        """Keep one record, wherever there is room."""
        self._restore()
        self._all.append(record)
        if not self._displaced:
            try:
                self._store.append(record)
            except StoreError as error:
                self._cause = str(error)
            else:
                return
        self._displaced.append(record)
        self._rescue_all()

    def close(self) -> None:
        """Bring displaced records home if that works now, and let go of all files."""
        self._restore()
        try:
            while self._displaced:
                self._store.append(self._displaced[0])
                del self._displaced[0]
                self._saved = max(self._saved - 1, 0)
                self._returned += 1
        except StoreError as error:
            self._cause = str(error)
        self._store.close()
        if self._rescue is not None:
            self._rescue.close()
        if not self._displaced:
            self._drop_rescue()

    @property
    def trouble(self) -> tuple[str, ...]:
        """What a person must know: nothing, or the cause and where the records are."""
        if not self._cause:
            return (f"{self._path.name} was deleted meanwhile, and written anew",) * self._deleted
        if not self._displaced:
            count = _count(self._returned)
            return (f"{count} could be written at the end only. At first: {self._cause}",)
        unsaved = len(self._displaced) - self._saved
        lines = [self._cause]
        if self._saved:
            lines.append(f"{_count(self._saved)} of this run saved in {self._rescue_path}")
        if unsaved:
            lines.append(f"{_count(unsaved)} of this run could be saved nowhere")
        return tuple(lines)

    def _restore(self) -> None:
        """Where the file was deleted meanwhile, write it anew: the records are still known."""
        if not self._store.deleted:
            return
        self._store.close()
        self._deleted = True
        known, self._all = self._all, []
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        for record in known:
            self.append(record)

    def _rescue_all(self) -> None:
        """Write to the rescue file what is not in it yet."""
        try:
            for record in self._displaced[self._saved :]:
                self._rescue_store().append(record)
                self._saved += 1
        except (OSError, StoreError):
            # They stay in memory, and the next record tries again.
            return

    def _rescue_store(self) -> RecordStore:
        if self._rescue is None:
            directory = tempfile.mkdtemp(prefix="agentbench-rescued-", dir=self._temporary)
            self._rescue_path = Path(directory) / self._path.name
            self._rescue = RecordStore(self._rescue_path)
        return self._rescue

    def _drop_rescue(self) -> None:
        if self._rescue_path is not None:
            with suppress(OSError):
                self._rescue_path.unlink(missing_ok=True)
                self._rescue_path.parent.rmdir()


def _count(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"
