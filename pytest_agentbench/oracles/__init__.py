"""Hidden checks of what an agent left. May not know the engine, nor which agent it judges."""
