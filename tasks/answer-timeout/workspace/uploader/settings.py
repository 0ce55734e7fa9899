"""Where settings come from: the environment, else the stage's file, else the defaults."""

import configparser
import os
from pathlib import Path

from uploader.defaults import VALUES

CONFIG = Path(__file__).parent.parent / "config"


def variable(key):
    """The environment variable for a key: `upload.timeout` is UPLOADER_UPLOAD_TIMEOUT."""
    return "UPLOADER_" + key.upper().replace(".", "_")


def number(key, stage):
    """The value of a setting on a stage."""
    if variable(key) in os.environ:
        return float(os.environ[variable(key)])
    section, _, name = key.partition(".")
    parser = configparser.ConfigParser()
    parser.read(CONFIG / f"{stage}.ini")
    return parser.getfloat(section, name, fallback=float(VALUES[key]))
