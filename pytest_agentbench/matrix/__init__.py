"""From tasks and variants to trials. Pure: no I/O, no clock, no pytest."""
