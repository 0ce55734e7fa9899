"""Which directories experiments name as overlays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pytest_agentbench.taskfiles.overlays import named_overlays


def overlays(root: Path, files: dict[str, str]) -> dict[str, str]:
    """What is named, and by whom, relative to the root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = named_overlays(str(root))
    return {
        Path(path).relative_to(root).as_posix(): file.relative_to(root).as_posix()
        for path, file in found.items()
    }


def test_overlays_of_all_experiments_are_found(tmp_path: Path) -> None:
    """Relative to the file that names them; broken files and odd values are passed over."""
    assert overlays(
        tmp_path,
        {
            "agentbench.yaml": "variants:\n  a: {agent: x, overlay: overlays/a}\n  b: {}\n"
            "  c: {overlay: [z]}\n  d: {overlay: .}\n  e: {overlay: overlays/a/../e}\n",
            "experiments/far.yml": "variants: {a: {overlay: ../overlays/far}}\n",
            "experiments/near.yaml": "variants: {a: {overlay: near}}\n",
            "experiments/broken.yaml": "variants: {a: {overlay: [}}\n",
            "experiments/list.yaml": "- overlay: x\n",
            "experiments/note.txt": "variants: {a: {overlay: text}}\n",
        },
    ) == {
        "overlays/a": "agentbench.yaml",
        "overlays/e": "agentbench.yaml",
        "overlays/far": "experiments/far.yml",
        "experiments/near": "experiments/near.yaml",
    }


def test_only_the_word_in_its_place_counts(tmp_path: Path) -> None:
    """A comment or an agent's option of that name hides no tests."""
    assert (
        overlays(
            tmp_path,
            {
                "agentbench.yaml": "# overlay: tests\n"
                "variants: {a: {agent: x, options: {overlay: tests}}}\noverlay: tests\n"
            },
        )
        == {}
    )


def test_a_project_without_overlays_imports_no_yaml(tmp_path: Path) -> None:
    """Every pytest session asks."""
    (tmp_path / "agentbench.yaml").write_text("variants: {a: {agent: noop}}\n")
    program = (
        "import sys\n"
        "from pytest_agentbench.taskfiles.overlays import named_overlays\n"
        f"assert named_overlays({str(tmp_path)!r}) == {{}}\n"
        "assert not {'yaml', 'pydantic'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
