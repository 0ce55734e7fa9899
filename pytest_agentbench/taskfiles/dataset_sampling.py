"""Which rows of a dataset are taken: the same ones everywhere for one seed. Pure.

Each row has a rank of its own, made of the seed and its name. So neither the order
of the rows nor other rows decide what comes before what, and a smaller sample is a
part of every larger one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence


def sampled(names: Sequence[str], among: Iterable[int], sample: int, seed: int) -> list[int]:
    """Up to ``sample`` of some rows' indexes, in the order of the rows."""
    ranked = sorted(among, key=lambda index: _rank(names[index], seed))
    return sorted(ranked[:sample])


def sampled_by_stratum(
    names: Sequence[str], strata: Sequence[str], per_stratum: int, seed: int
) -> list[int]:
    """Up to ``per_stratum`` indexes of each stratum, in the order of the rows.

    A stratum that has no more than that is taken whole.
    """
    members: dict[str, list[int]] = {}
    for index, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(index)
    chosen = (sampled(names, group, per_stratum, seed) for group in members.values())
    return sorted(index for group in chosen for index in group)


def _rank(name: str, seed: int) -> bytes:
    text = f"{seed}\0{name}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()
