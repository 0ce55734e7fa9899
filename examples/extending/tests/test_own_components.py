"""The three classes of this project, tried by the suites that the built-in ones run."""

from oracles import PalindromeOracle
from pytest_agentbench.testing import AgentSuite, OracleSuite, SandboxSuite
from sandboxes.frugal import FrugalDriver
from shouter.agent import Shouter


class TestShouter(AgentSuite):
    agent_class = Shouter
    options = {"into": "answer.txt"}


class TestFrugal(SandboxSuite):
    driver_class = FrugalDriver


class TestPalindrome(OracleSuite):
    oracle_class = PalindromeOracle
    expectation = "answer.txt"
    right = {"answer.txt": "Never odd or even\n"}
    wrong = {"answer.txt": "Never odd nor even\n"}
