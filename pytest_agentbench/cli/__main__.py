"""``python -m pytest_agentbench.cli``: the command where its script is not on PATH."""

from pytest_agentbench.cli import main

raise SystemExit(main())
