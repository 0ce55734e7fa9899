"""The shop's listings."""
