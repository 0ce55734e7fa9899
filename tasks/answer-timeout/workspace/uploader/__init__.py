"""Sends files to the archive."""
