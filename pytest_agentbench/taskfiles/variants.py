"""``extends`` of variants: from what each one builds on. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from pytest_agentbench.taskfiles.complaints import unknown

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentbench.model.task import JsonValue, SettingsLayer
    from pytest_agentbench.taskfiles.experimentshape import VariantShape
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document


@dataclass(frozen=True, slots=True)
class Link:
    """One variant of a chain, as its file gives it.

    ``level`` counts files from the chosen one, which is 0, down to the one at the bottom
    of ``extends``. ``layer``, ``overlay`` and ``template`` are what its keys come to.
    """

    name: str
    shape: VariantShape
    document: Document
    level: int = 0
    layer: SettingsLayer = field(default_factory=dict)
    overlay: Path | None = None
    template: str | None = None

    @property
    def mentions_agent(self) -> bool:
        """Whether it has an ``agent``, be it a wrong one."""
        data = self.document.data
        variants = data.get("variants") if isinstance(data, dict) else None
        raw = variants.get(self.name) if isinstance(variants, dict) else None
        return isinstance(raw, dict) and "agent" in raw

    def gives(self, where: DataPath) -> bool:
        """Whether its own options have something at that place."""
        found: object = self.shape.options
        for step in where:
            is_key = isinstance(found, Mapping) and step in found
            is_index = isinstance(found, list) and isinstance(step, int) and step < len(found)
            if not (is_key or is_index):
                return False
            found = cast("dict[object, object]", found)[step]
        return bool(where)

    def report(self, where: DataPath, message: str, *, advice: str = "", key: bool = False) -> None:
        """Note a problem at a place of this variant, in its own file."""
        at = ("variants", self.name, *where)
        self.document.report(at, message, advice=advice, key=key)


Levels: TypeAlias = "Sequence[Mapping[str, Link]]"
"""The variants of each file, those of the chosen one first."""


def options_of(links: Sequence[Link]) -> list[Mapping[str, JsonValue]]:
    """The options of each link, lowest first."""
    return [cast("Mapping[str, JsonValue]", link.shape.options) for link in links]


def resolve_extends(levels: Levels) -> dict[str, tuple[Link, ...]]:
    """For each variant its chain, from the one at the bottom up to itself.

    A variant of a nearer file replaces the one of that name. The variants keep the place
    that their name has first, from the lowest file up. Unknown names and circles are
    reported; such variants are left out, as are those that build on them.
    """
    nearest: dict[str, Link] = {}
    for level in reversed(levels):
        nearest |= level
    chains = {name: _chain(link, nearest, levels) for name, link in nearest.items()}
    return {name: chain for name, chain in chains.items() if chain}


def _chain(last: Link, nearest: Mapping[str, Link], levels: Levels) -> tuple[Link, ...]:
    links = [last]
    while links[0].shape.has("extends"):
        link = links[0]
        base = _base(link, nearest, levels)
        if base is None:
            wanted = link.shape.extends
            others = [name for name in nearest if name != link.name]
            message = (
                unknown(wanted, others, what="variant") if others else f"unknown variant {wanted!r}"
            )
            link.report(("extends",), message)
            return ()
        if any(base is one for one in links):
            if base is last:
                circle = " -> ".join([*(one.name for one in reversed(links)), base.name])
                last.report(("extends",), f"'extends' goes round in a circle: {circle}")
            return ()
        links.insert(0, base)
    return tuple(links)


def _base(link: Link, nearest: Mapping[str, Link], levels: Levels) -> Link | None:
    """What a variant extends; its own name means the one of a file further down."""
    wanted = link.shape.extends
    if wanted == link.name:
        for level in levels[link.level + 1 :]:
            if wanted in level:
                return level[wanted]
    return nearest.get(wanted)
