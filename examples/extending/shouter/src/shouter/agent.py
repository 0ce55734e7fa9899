"""The agent: a command line, and what its output says."""

import re

from pytest_agentbench import AgentBase, AgentCommand, AgentOptions, Transcript, Usage


class ShouterOptions(AgentOptions):
    """``into``: the file that it writes."""

    into: str = "answer.txt"


class Shouter(AgentBase):
    """Writes the last line of its prompt, in capitals, to a file."""

    name = "shouter"
    Options = ShouterOptions

    def command(self, trial, context):
        script = 'tail -n 1 | tr a-z A-Z > "$1"; echo "turns: 1"'
        return AgentCommand(
            ("sh", "-c", script, "sh", self.options.into),
            stdin=trial.prompt.strip().encode("utf-8", "replace"),
        )

    def parse(self, completed):
        found = re.search(r"^turns: (\d{1,6})$", completed.stdout.text(), re.MULTILINE)
        if found is None:
            return Transcript()
        return Transcript(usage=Usage(turns=int(found[1]), source="its own words"))
