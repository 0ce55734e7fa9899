"""The kinds of agents: one module each, and what they share."""
