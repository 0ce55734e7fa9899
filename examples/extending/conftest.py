"""Gives the oracle of this project to pytest-agentbench."""

from oracles import PalindromeOracle


def pytest_agentbench_oracles():
    return {"palindrome": PalindromeOracle}
