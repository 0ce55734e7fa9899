"""What people and other tools read about a run. Everything here returns text."""
