"""Values that hold where nobody says otherwise. Times are in seconds."""

VALUES = {
    "upload.timeout": 30.0,
    "upload.attempts": 3,
    "status.timeout": 5.0,
}
