"""Keeps track of what is in stock."""
