"""The run directory: records, plans, manifest and artifacts of one run, written and read."""
