"""Everything that knows pytest: collection, fixtures, reports, and the session's end."""
