"""The nouns of the design page as values. Pure: no I/O, no clock, no pytest."""
