"""An oracle: ``palindrome: FILE`` wants a file that reads the same from both ends."""

from pytest_agentbench import OracleBase


class PalindromeOracle(OracleBase):
    """A file that reads the same from both ends."""

    kind = "palindrome"
    options = ("min_length",)

    def validate(self, spec):
        problems = super().validate(spec)
        if not isinstance(spec.expectation, str) or not spec.expectation.strip("\0"):
            problems.append((("palindrome",), "must be the name of a file"))
        length = spec.options.get("min_length", 1)
        if not isinstance(length, int) or length < 1:
            problems.append((("min_length",), "must be a whole number above 0"))
        return problems

    async def check(self, staged, sandbox, subject):
        spec = staged.spec
        data = await sandbox.read(spec.expectation, limit=10_000)
        if data is None:
            return self.result(staged, passed=False, reason=f"{spec.expectation} is missing")
        letters = [char for char in data.decode("utf-8", "replace").casefold() if char.isalnum()]
        wanted = spec.options.get("min_length", 1)
        if len(letters) < wanted:
            why = f"{len(letters)} letters, {wanted} are wanted"
            return self.result(staged, passed=False, reason=why)
        pairs = len(letters) // 2
        same = sum(letters[n] == letters[-1 - n] for n in range(pairs))
        score = same / pairs if pairs else 1.0
        return self.result(
            staged, passed=same == pairs, score=score, reason=f"{same} of {pairs} pairs are the same"
        )
