"""Settings read from options over ini keys over defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_agentbench.errors import UsageError
from pytest_agentbench.options import OPTIONS
from pytest_agentbench.settings import Assignment, Settings, read_settings, user_cache

ROOT, HERE = Path("/project"), Path("/project/sub")


def read(
    typed: Mapping[str, object] | None = None, ini: Mapping[str, object] | None = None
) -> Settings:
    """The settings of a session started in ``sub``."""
    return read_settings(
        ROOT,
        HERE,
        chosen=typed or {},
        ini=lambda key: (ini or {}).get(key, ""),
        task_directories=None,
    )


def test_defaults() -> None:
    """Nothing asked for."""
    assert read() == Settings(ROOT, ROOT / ".agentbench")


def test_each_option_has_an_ini_key_of_its_name() -> None:
    """Prefix and name make both."""
    assert [(one.flag, one.key) for one in OPTIONS if "-" in one.name] == [
        ("--agentbench-include-skipped", "agentbench_include_skipped")
    ]
    assert {one.name for one in OPTIONS} == {
        *("agent", "experiment", "include-skipped", "junit", "keep", "label", "model"),
        *("repeats", "results", "sample", "sandbox", "set", "variant"),
    }


def test_the_command_line_wins_over_the_ini_file() -> None:
    """An option replaces the ini key; paths are relative to where they are written."""
    ini = {
        "agentbench_results": "runs",
        "agentbench_experiment": "x/a.yaml",
        "agentbench_keep": "all",
        "agentbench_variant": ["a", "b*"],
        "agentbench_sample": "5",
        "agentbench_label": "from ini",
        "agentbench_include_skipped": True,
    }
    configured = read(ini=ini)
    assert configured.results == ROOT / "runs"
    assert configured.experiment == "/project/x/a.yaml"
    assert (configured.keep, configured.variants) == ("all", ("a", "b*"))
    assert (configured.sample, configured.label) == (5, "from ini")
    assert configured.include_skipped
    typed = read(
        {
            "results": "runs",
            "experiment": "wide",
            "keep": "none",
            "agent": "noop",
            "sample": "1",
            "label": "typed",
        },
        ini,
    )
    assert typed.results == HERE / "runs"
    assert (typed.experiment, typed.keep) == ("wide", "none")
    assert (typed.variants, typed.agent) == ((), "noop"), "one choice of variants, not two"
    assert (typed.sample, typed.label) == (1, "typed")


def test_settings_of_both_sources_are_kept_apart() -> None:
    """A path may be set in the ini file and on the command line: those are two layers."""
    settings = read(
        {"repeats": "2", "set": ["limits.time=5m", "options.a= b=c"]},
        {"agentbench_set": ["repeats=3"], "agentbench_sandbox": "local"},
    )
    assert settings.typed == (
        Assignment("repeats", "2", "--agentbench-repeats=2", HERE),
        Assignment("limits.time", "5m", "--agentbench-set=limits.time=5m", HERE),
        Assignment("options.a", " b=c", "--agentbench-set=options.a= b=c", HERE),
    )
    assert settings.configured == (
        Assignment("sandbox.driver", "local", "agentbench_sandbox = local", ROOT, plain=True),
        Assignment("repeats", "3", "agentbench_set = repeats=3", ROOT),
    )


@pytest.mark.parametrize(
    ("typed", "ini", "expected"),
    [
        (
            {"repeats": "2", "set": ["repeats=3"]},
            {},
            (
                "repeats is set twice on the command line: by --agentbench-repeats=2 and by"
                " --agentbench-set=repeats=3. Try: keep one of them"
            ),
        ),
        (
            {"set": ["limits.time=1m", "limits.time=1m"]},
            {},
            (
                "limits.time is set twice on the command line: by --agentbench-set=limits.time=1m"
                " and by --agentbench-set=limits.time=1m. Try: keep one of them"
            ),
        ),
        (
            {"set": ["options.a.b=1", "options.a={}"]},
            {},
            (
                "options.a is set twice on the command line: by --agentbench-set=options.a.b=1"
                " and by --agentbench-set=options.a={}. Try: keep one of them"
            ),
        ),
        (
            {},
            {"agentbench_sandbox": "local", "agentbench_set": ["sandbox.driver=auto"]},
            (
                "sandbox.driver is set twice in the ini file: by agentbench_sandbox = local"
                " and by agentbench_set = sandbox.driver=auto. Try: keep one of them"
            ),
        ),
        (
            {"set": ["limits.time"]},
            {},
            "--agentbench-set=limits.time: wants PATH=VALUE, such as limits.time=5m",
        ),
        ({"set": ["=5"]}, {}, "--agentbench-set==5: wants PATH=VALUE, such as limits.time=5m"),
        (
            {"variant": ["a"], "agent": "noop"},
            {},
            (
                "--agentbench-agent: --agentbench-agent runs one variant of its own, so there is"
                " nothing for --agentbench-variant to choose from. Try: one of them;"
                " --agentbench-model sets the model of the variants"
            ),
        ),
        (
            {"keep": "some"},
            {},
            "--agentbench-keep: 'some' is no policy. Try: one of none, failed, all",
        ),
        (
            {},
            {"agentbench_keep": "some"},
            "agentbench_keep of the ini file: 'some' is no policy. Try: one of none, failed, all",
        ),
        ({"sample": "0"}, {}, "--agentbench-sample: '0' is no whole number above 0"),
        ({"sample": "2.5"}, {}, "--agentbench-sample: '2.5' is no whole number above 0"),
        ({"label": "a\nb"}, {}, "--agentbench-label: a label is one line that can be printed"),
        *(
            (
                typed,
                {},
                f"--agentbench-{name}=: the value is empty. Try: a value, or leave the option out",
            )
            for name, typed in (
                ("variant", {"variant": ["a", ""]}),
                ("set", {"set": [""]}),
                ("agent", {"agent": ""}),
                ("results", {"results": ""}),
                ("label", {"label": ""}),
            )
        ),
        ({"label": "  "}, {}, "--agentbench-label: a label is one line that can be printed"),
        (
            {"label": "x" * 201},
            {},
            "--agentbench-label: a label has at most 200 characters, not 201",
        ),
    ],
)
def test_what_means_nothing_is_refused(
    typed: dict[str, object], ini: dict[str, object], expected: str
) -> None:
    """The message names the option, or both of two that collide."""
    with pytest.raises(UsageError) as caught:
        read(typed, ini)
    assert str(caught.value) == expected


def test_a_truth_value_that_is_none_is_refused() -> None:
    """The message says which key of the ini file it is."""

    def ini(key: str) -> object:
        if key == "agentbench_include_skipped":
            raise ValueError("invalid truth value 'maybe'")
        return ""

    with pytest.raises(UsageError) as caught:
        read_settings(ROOT, HERE, chosen={}, ini=ini, task_directories=None)
    assert str(caught.value) == (
        "agentbench_include_skipped of the ini file: invalid truth value 'maybe'."
        " Try: true or false"
    )


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/pytest-agentbench"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/pytest-agentbench"),
        ({"XDG_CACHE_HOME": "here", "HOME": "/h"}, "/h/.cache/pytest-agentbench"),
        ({"HOME": "/h"}, "/h/.cache/pytest-agentbench"),
        ({"XDG_CACHE_HOME": "here", "HOME": "here"}, None),
        ({}, None),
    ],
)
def test_the_cache_of_a_user(variables: dict[str, str], place: str | None) -> None:
    """Only absolute places count: relative ones would be others in each directory."""
    assert user_cache(variables) == (None if place is None else Path(place))
