"""All attacks: what the threat model's table says, and what is run."""

from __future__ import annotations

from redteam.attack import Attack
from redteam.lasting import LASTING
from redteam.looking import LOOKING
from redteam.planting import PLANTING
from redteam.working import WORKING

ATTACKS: tuple[Attack, ...] = (*LOOKING, *PLANTING, *WORKING, *LASTING)
