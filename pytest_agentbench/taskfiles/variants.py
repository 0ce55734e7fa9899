"""``extends`` of variants: from what each one builds on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pytest_agentbench.taskfiles.complaints import unknown

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.document import VariantShape
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document


@dataclass(frozen=True, slots=True)
class Link:
    """One variant of a chain, as its file gives it."""

    name: str
    shape: VariantShape
    raw: Mapping[str, JsonValue]

    @property
    def mentions_agent(self) -> bool:
        """Whether it has an ``agent``, be it a wrong one."""
        return "agent" in self.raw

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


def resolve_extends(
    shapes: Mapping[str, VariantShape], document: Document
) -> dict[str, tuple[Link, ...]]:
    """For each variant its chain, from the one at the bottom up to itself.

    Unknown names and circles are reported; such variants are left out, as are those
    that build on them.
    """
    chains: dict[str, tuple[Link, ...]] = {}
    for name in shapes:
        chain = _chain(name, shapes, document)
        if chain:
            chains[name] = chain
    return chains


def _chain(name: str, shapes: Mapping[str, VariantShape], document: Document) -> tuple[Link, ...]:
    links: list[Link] = []
    current = name
    while True:
        shape = shapes[current]
        links.insert(0, Link(current, shape, _raw(document, current)))
        if not shape.has("extends"):
            return tuple(links)
        base = shape.extends
        at = ("variants", current, "extends")
        if base not in shapes:
            if current == name:
                others = [other for other in shapes if other != name]
                message = (
                    unknown(base, others, what="variant") if others else f"unknown variant {base!r}"
                )
                document.report(at, message)
            return ()
        names = [link.name for link in links]
        if base in names:
            if base == name:
                circle = " -> ".join([*reversed(names), base])
                place = ("variants", name, "extends")
                document.report(place, f"'extends' goes round in a circle: {circle}")
            return ()
        current = base


def _raw(document: Document, name: str) -> Mapping[str, JsonValue]:
    variants = document.data.get("variants") if isinstance(document.data, dict) else None
    raw = variants.get(name) if isinstance(variants, dict) else None
    return raw if isinstance(raw, dict) else {}
