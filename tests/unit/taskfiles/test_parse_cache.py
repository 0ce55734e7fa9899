"""The parse cache: it saves time, and never changes what a task file means."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles import cachefile, parsed, yamlnodes
from pytest_agentbench.taskfiles.cachefile import CacheFile, Kept, digest_of
from pytest_agentbench.taskfiles.loader import load_task_file
from pytest_agentbench.taskfiles.yamldocument import Document

DAY = 20_000
FILLER = "# " + "x" * cachefile.WORTH_BYTES + "\n"
"""Makes a text worth keeping."""
TASK = """\
prompt: Do it.
tags: [a, b]
oracles:
  - run: ["true"]
    name: first
  - {run: ["false"], weight: 0.5, name: second}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache directory of the test's own, and no documents of earlier tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(parsed, "_KEPT", {})
    monkeypatch.setattr(parsed, "_FILES", {})
    yield tmp_path / "cache" / "pytest-agentbench" / "parsed"
    for path in sorted(tmp_path.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o700)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project's root directory."""
    path = tmp_path / "project"
    path.mkdir()
    return path


def put(root: Path, text: str, name: str = "t.yaml") -> Path:
    path = root / name
    path.write_text(text)
    return path


def session(path: Path, root: Path) -> Document:
    """What one session makes of a file; it keeps what it has parsed."""
    document = parsed.take(path, root)
    parsed.keep()
    return document


def the_file(home: Path) -> Path:
    (found,) = home.iterdir()
    return found


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Take the parser away: what is read from now on comes from the cache, or fails."""

    def gone(path: Path, raw: bytes, *, what: str) -> Document:
        raise AssertionError(f"{path} is parsed as a {what}: {raw!r}")

    return lambda: monkeypatch.setattr(parsed, "parse", gone)


def same(one: Document, other: Document) -> bool:
    """Whether two documents hold the same, types and order of keys included."""
    return (
        json.dumps(one.data) == json.dumps(other.data)
        and one.spots == other.spots
        and (one.path, one.text, one.problems) == (other.path, other.text, other.problems)
    )


def test_the_second_session_does_not_parse(
    root: Path, home: Path, no_parser: Callable[[], None]
) -> None:
    """What one session parsed, the next one reads: same data, same places, same text."""
    path = put(root, TASK + FILLER)
    first = session(path, root)
    assert the_file(home).stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    no_parser()
    second = session(path, root)
    assert same(first, second)
    assert second.place(("oracles", 1, "weight")) == (6, 30)
    assert second.place(("oracles", 1, "weight"), key=True) == (6, 22)
    assert second.place(("oracles", 7)) == second.place(("oracles",)) == (4, 3)


def test_a_changed_file_is_parsed(root: Path, no_parser: Callable[[], None]) -> None:
    """One other byte, and the cache is not asked; the old text is still known."""
    path = put(root, TASK + FILLER)
    session(path, root)
    put(root, TASK.replace("Do it", "Do that") + FILLER)
    data = session(path, root).data
    assert isinstance(data, dict)
    assert data["prompt"] == "Do that."
    put(root, TASK + FILLER)
    no_parser()
    assert session(path, root).data is not None


def test_two_files_of_the_same_bytes_share_nothing(root: Path) -> None:
    """Each file has data of its own, with its own path."""
    one, two = put(root, TASK + FILLER), put(root, TASK + FILLER, "u.yaml")
    session(one, root)
    first, second = session(one, root), session(two, root)
    assert first.data == second.data
    assert first.data is not second.data
    assert (first.path, second.path) == (one, two)


def test_messages_are_the_same(root: Path, home: Path) -> None:
    """What is wrong with a task is told in the same words, with the same line and caret."""
    text = TASK.replace("weight: 0.5", "wieght: 0.5").replace("tags: [a, b]", "tags: [a, 7]")
    path = put(root, text + FILLER)
    told = []
    for _ in range(2):
        with pytest.raises(DefinitionError) as caught:
            load_task_file(path, rootdir=root)
        told.append(str(caught.value))
        parsed.keep()
        assert the_file(home).stat().st_size > len(text)
    assert told[0] == told[1]
    assert "wieght" in told[0]
    assert "^" in told[0]


@pytest.mark.parametrize(
    "text",
    [
        "a: [1\n",
        "- a list\n",
        "a: 1\na: 2\n",
        "a: &x [1]\nb: *x\n",
        "base: &b {x: {y: 1}}\na: {<<: *b}\n",
        "a: 0x1" + "0" * 6000 + "\n",
        'a: "\\ud800"\n',
        "a: &a [*a]\n",
        "a: " + "[" * 200 + "]" * 200 + "\n",
    ],
    ids=[
        "broken",
        "no-mapping",
        "duplicate-key",
        "alias",
        "merge",
        "number-too-long-for-text",
        "lone-surrogate",
        "recursive",
        "deep",
    ],
)
def test_what_is_not_kept(root: Path, home: Path, text: str) -> None:
    """Problems, shared parts and what JSON cannot say are parsed each time, with one result."""
    path = put(root, text + FILLER)
    first, second = session(path, root), session(path, root)
    assert not home.exists()
    assert first.problems == second.problems
    assert first.data == second.data
    if "&x" in text:
        assert isinstance(second.data, dict)
        assert second.data["a"] is second.data["b"]


def test_deep_files_are_refused(root: Path) -> None:
    """A file that is nested deeper than any task is a problem, and no crash of Python's."""
    for levels in (200, 500, 900, 5000):
        path = put(root, "a: " + "[" * levels + "]" * levels + "\n")
        (problem,) = session(path, root).problems
        assert "nested deeper than 100 levels" in problem.message or "nesting" in problem.message
    assert session(put(root, "a: " + "[" * 98 + "]" * 98 + "\n"), root).problems == []


def test_little_is_not_kept(root: Path, home: Path) -> None:
    """A project whose files are parsed at once leaves nothing in the user's home."""
    session(put(root, TASK), root)
    assert not home.exists()


def test_no_home(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a home directory everything is parsed."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    path = put(root, TASK + FILLER)
    assert same(session(path, root), session(path, root))


def _flip(data: bytes) -> bytes:
    place = data.index(b"Do it.")
    return data[:place] + b"No" + data[place + 2 :]


def _swap(data: bytes) -> bytes:
    """The body of one entry under the digest of the other, checksums with the bodies."""
    one, two = data.splitlines()
    return one[:45] + two[45:] + b"\n" + two[:45] + one[45:] + b"\n"


def _forged(body: str) -> Callable[[bytes], bytes]:
    def forge(data: bytes) -> bytes:
        lines = [line[2:42].decode() for line in data.splitlines()]
        return b"\n".join(cachefile._line(digest, DAY, body.encode()) for digest in lines)

    return forge


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "changed": _flip,
    "swapped": _swap,
    "empty": lambda _: b"",
    "garbage": lambda _: bytes(range(256)) * 100,
    "zeros": lambda data: bytes(len(data)),
    "no-json": _forged("[{"),
    "number": _forged("7"),
    "no-mapping": _forged("[[],[1,1,3]]"),
    "no-spots": _forged('[{"prompt":"x"},[]]'),
    "short-spots": _forged('[{"prompt":"x"},[1,1,8]]'),
    "text-spots": _forged('[{"prompt":"x"},["a","b","c"]]'),
    "triple": _forged("[{},[1,1,3],0]"),
    "deep": _forged("[" * 100_000),
    "no-line-ends": lambda data: data.replace(b"\n", b" "),
    "day": lambda data: data.replace(b'",', b'",x', 2),
    **{f"cut-{part}": lambda data, part=part: data[: len(data) * part // 9] for part in range(9)},  # type: ignore[misc]
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_changes_nothing(root: Path, home: Path, damage: Callable[[bytes], bytes]) -> None:
    """Whatever was done to the file, both tasks are what their bytes say, and it mends itself."""
    paths = [put(root, TASK + FILLER), put(root, TASK.replace("a, b", "c") + FILLER, "u.yaml")]
    right = [parsed.take(path, root) for path in paths]
    parsed.keep()
    file = the_file(home)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    for _ in range(2):
        assert all(
            same(parsed.take(path, root), document)
            for path, document in zip(paths, right, strict=True)
        )
        parsed.keep()
    assert sorted(file.read_bytes().splitlines()) == sorted(whole.splitlines())


def _fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _symlink(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def _huge(file: Path) -> None:
    with file.open("ab") as stream:
        stream.truncate(cachefile.MOST_BYTES + 1)


@pytest.mark.parametrize(
    "change",
    [
        _fifo,
        _directory,
        _symlink,
        _huge,
        lambda file: file.chmod(0o660),
        lambda file: file.chmod(0o000),
        lambda file: file.parent.chmod(0o500),
        lambda file: file.parent.chmod(0o000),
    ],
    ids=["fifo", "directory", "symlink", "huge", "group", "unreadable", "read-only", "closed"],
)
def test_odd_files_change_nothing(root: Path, home: Path, change: Callable[[Path], None]) -> None:
    """A cache that is no plain private file is left alone, and nothing is told of it."""
    path = put(root, TASK + FILLER)
    right = session(path, root)
    change(the_file(home))
    assert same(session(path, root), right)
    assert same(session(path, root), right)


def test_what_others_may_write_to_is_not_read(
    root: Path, home: Path, no_parser: Callable[[], None]
) -> None:
    """Negative control: the same file is read once only its owner may write to it."""
    path = put(root, TASK + FILLER)
    session(path, root)
    no_parser()
    the_file(home).chmod(0o622)
    with pytest.raises(AssertionError, match="is parsed"):
        session(path, root)
    parsed.keep()
    the_file(home).chmod(0o600)
    assert session(path, root).data is not None


@pytest.mark.parametrize("place", ["cache", "cache/pytest-agentbench"])
def test_a_file_where_the_directory_should_be(root: Path, tmp_path: Path, place: str) -> None:
    """A cache that cannot be made is done without."""
    target = tmp_path / place
    target.parent.mkdir(exist_ok=True)
    target.write_text("")
    path = put(root, TASK + FILLER)
    assert same(session(path, root), session(path, root))
    assert target.read_text() == ""


def test_a_directory_that_others_may_write_to(root: Path, home: Path) -> None:
    """Nothing is left where somebody else could replace it."""
    home.mkdir(parents=True)
    home.chmod(0o777)
    session(put(root, TASK + FILLER), root)
    assert list(home.iterdir()) == []


def digests(path: Path) -> list[str]:
    return [json.loads(line)[0] for line in path.read_text().splitlines()]


def kept(name: str) -> tuple[str, Kept, int]:
    return digest_of(name.encode()), Kept({"name": name}, [1, 1, 8, 1, 1, 1, 7, 3]), 1 << 20


def test_what_nobody_uses_is_dropped(home: Path) -> None:
    """Entries go a month after their last use; each line is JSON by itself."""
    path = home / "x.jsonl"
    for day, name in ((DAY, "old"), (DAY + 20, "used"), (DAY + 20, "late")):
        file = CacheFile(path, today=day)
        file.get("")
        file.put(*kept(name))
        file.save()
    file = CacheFile(path, today=DAY + 40)
    assert file.get(kept("used")[0]) == kept("used")[1]
    file.save()
    assert digests(path) == [kept("used")[0], kept("late")[0]]
    days = [json.loads(line)[2] for line in path.read_text().splitlines()]
    assert days == [DAY + 40, DAY + 20]


def test_use_is_not_noted_each_day(home: Path) -> None:
    """A session that finds everything writes nothing, until a week has passed."""
    path = home / "x.jsonl"
    file = CacheFile(path, today=DAY)
    file.put(*kept("a"))
    file.save()
    before = path.stat().st_ino
    for day, written in ((DAY, False), (DAY + 7, False), (DAY + 8, True)):
        file = CacheFile(path, today=day)
        assert file.get(kept("a")[0]) is not None
        file.save()
        assert (path.stat().st_ino != before) == written


def test_an_entry_of_the_future_is_dropped(home: Path) -> None:
    """A clock that was wrong once does not keep anything for ever."""
    path = home / "x.jsonl"
    for day, name in ((DAY + 30_000, "future"), (DAY, "now")):
        file = CacheFile(path, today=day)
        file.get("")
        file.put(*kept(name))
        file.save()
    assert digests(path) == [kept("now")[0]]


def test_the_size_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too much, what was used last stays; what is left can be read again."""
    monkeypatch.setattr(cachefile, "MOST_BYTES", 1000)
    path = home / "x.jsonl"
    for day in range(20):
        file = CacheFile(path, today=DAY + day)
        file.get("")
        file.put(*kept(f"number {day}"))
        file.save()
    assert path.stat().st_size <= 1000
    found = digests(path)
    assert 3 < len(found) < 10
    assert found == [kept(f"number {day}")[0] for day in range(19, 19 - len(found), -1)]


def test_files_of_gone_projects_are_removed(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes removes what nobody has written for a month, halves, and the most of many."""
    monkeypatch.setattr(cachefile, "MOST_FILES", 3)
    home.mkdir(parents=True, mode=0o700)
    ages = {"new.jsonl": 1, "older.jsonl": 2, "oldest.jsonl": 3, "gone.jsonl": 31}
    ages |= {".a.tmp": 0, ".b.tmp": 2, "foreign": 99}
    for name, days in ages.items():
        (home / name).write_text("")
        os.utime(home / name, (time.time() - days * 86_400,) * 2)
    session(put(root, TASK + FILLER), root)
    own = CacheFile.of(root, home.parent)._path
    assert own is not None
    names = {path.name for path in home.iterdir()}
    assert names == {own.name, "new.jsonl", "foreign", ".a.tmp"}


def test_another_reader_has_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root directories, and versions of what reads YAML, do not share a file."""
    first = CacheFile.of(tmp_path, tmp_path)._path
    assert first == CacheFile.of(tmp_path, tmp_path)._path
    assert first != CacheFile.of(tmp_path / "x", tmp_path)._path
    monkeypatch.setattr(cachefile.yaml, "__version__", "0")  # type: ignore[attr-defined]
    assert first != CacheFile.of(tmp_path, tmp_path)._path
    monkeypatch.undo()
    monkeypatch.setattr(cachefile, "_SEMANTICS", ("scalars.py",))
    assert first != CacheFile.of(tmp_path, tmp_path)._path
    assert CacheFile.of(tmp_path, None)._path is None


RACER = """\
import sys
from pathlib import Path
from pytest_agentbench.taskfiles.cachefile import CacheFile, Kept, digest_of

path = Path(sys.argv[1])
for _ in range(200):
    file = CacheFile(path, today=20_000)
    for name in ("a", "b", "c"):
        found = file.get(digest_of(name.encode()))
        assert found in (None, Kept({"name": name * 5000}, [1, 1, 3])), found
        file.put(digest_of(name.encode()), Kept({"name": name * 5000}, [1, 1, 3]), 1 << 20)
    file.save()
"""


def test_several_processes(home: Path) -> None:
    """Processes that read and write at once see whole files only, and leave one behind."""
    home.parent.mkdir(parents=True)
    path = home / "x.jsonl"
    racers = [subprocess.Popen([sys.executable, "-c", RACER, path]) for _ in range(3)]
    assert [racer.wait(timeout=120) for racer in racers] == [0, 0, 0]
    assert list(home.iterdir()) == [path]
    assert len(digests(path)) == 3


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    scalars,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
    max_leaves=20,
)


def every_place(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield at
    if isinstance(value, dict):
        for key, part in value.items():
            yield from every_place(part, (*at, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from every_place(part, (*at, index))


@given(st.dictionaries(st.text(), values, max_size=5), st.sampled_from([None, 2]))
def test_round_trip(data: dict[str, object], indent: int | None) -> None:
    """Any data comes back the same, of the same types, with each key and value at its place."""
    raw = json.dumps(data, indent=indent).encode()
    document = yamlnodes.parse(Path("t.yaml"), raw, what="file")
    if document.problems:
        return
    assert isinstance(document.data, dict)
    file = CacheFile(Path("unused"), today=DAY)
    file.put("0" * 40, Kept(document.data, document.spots), 0)
    found = file.get("0" * 40)
    assert found is not None
    again = Document(document.path, document.text, found.data, spots=found.spots)
    assert repr(again.data) == repr(document.data)
    for at in every_place(data):
        for key in (False, True):
            assert again.place(at, key=key) == document.place(at, key=key)
