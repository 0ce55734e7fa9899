"""Counts, rates and intervals. Pure: values in, values out."""
