"""The walls around a workspace while something runs in it: `local` and `bubblewrap`.

Knows processes, files and namespaces; knows nothing of agents, oracles or pytest items.
"""
