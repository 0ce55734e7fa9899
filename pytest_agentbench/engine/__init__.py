"""Runs trials: prepares tasks, drives agents in sandboxes, scores, and makes records."""
