"""From YAML to values: task files and experiment files, and what tasks own on disk."""
