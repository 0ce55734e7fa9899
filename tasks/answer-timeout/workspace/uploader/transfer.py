"""One upload, attempt by attempt."""

from uploader.settings import number

LARGE_MB = 250


class GaveUp(Exception):
    """No attempt came through."""


def wait_s(size_mb, stage):
    """How long one attempt may take. Large files get twice the time."""
    base = number("upload.timeout", stage)
    return base * 2 if size_mb > LARGE_MB else base


def upload(connection, data, stage):
    size_mb = len(data) / 1_000_000
    for _ in range(int(number("upload.attempts", stage))):
        if connection.send(data, timeout=wait_s(size_mb, stage)):
            return
    raise GaveUp
