"""Sandboxes that are containers of a Docker engine, on this machine or a remote one.

All files are carried through the engine's API, so nothing is shared with the host
but what ``sandbox.mounts`` names.
"""
