"""What an installer makes of pyproject.toml."""

import re
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def config():
    return tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project(config):
    return config["project"]


def squeezed(text):
    return re.sub(r"\s+", "", text).replace("'", '"')


def test_name_is_valid(project):
    assert project["name"] == "stock-keeper"


def test_version_is_kept(project):
    assert project["version"] == "1.2.0"
    assert "version" not in project.get("dynamic", [])


def test_python_version(project):
    assert squeezed(project["requires-python"]).rstrip(",") in {">=3.9", ">=3.9.0"}


def test_readme(project):
    readme = project["readme"]
    assert (readme if isinstance(readme, str) else readme["file"]) == "README.md"


def test_dependencies(project):
    wanted = {"tabulate>=0.9", 'tomli;python_version<"3.11"'}
    assert isinstance(project["dependencies"], list)
    assert {squeezed(text) for text in project["dependencies"]} == wanted


def test_command(project):
    assert project["scripts"] == {"stock": "stock.cli:main"}


def test_build_backend_is_kept(config):
    assert config["build-system"]["build-backend"] == "setuptools.build_meta"
    assert any(text.startswith("setuptools") for text in config["build-system"]["requires"])


def packages(config):
    """The packages that setuptools would put into a wheel, by the rules it documents."""
    tool = config.get("tool", {}).get("setuptools", {})
    listed = tool.get("packages")
    if isinstance(listed, list):
        assert tool.get("package-dir", {}).get("") == "src", "package-dir does not name src"
        return set(listed)
    if listed is None:
        return {"stock", "stock.reports"}  # found by itself in a src layout
    find = listed["find"]
    assert find.get("where") == ["src"], "packages.find does not look in src"
    include, exclude = find.get("include", ["*"]), find.get("exclude", [])
    return {
        name
        for name in ("stock", "stock.reports")
        if any(fnmatchcase(name, pattern) for pattern in include)
        and not any(fnmatchcase(name, pattern) for pattern in exclude)
    }


def test_packages(config):
    assert packages(config) == {"stock", "stock.reports"}


def test_template_is_package_data(config):
    data = config.get("tool", {}).get("setuptools", {}).get("package-data", {})
    places = {"stock.reports": "page.txt", "stock": "reports/page.txt", "*": "page.txt"}
    found = [
        (package, pattern)
        for package, name in places.items()
        for pattern in data.get(package, [])
        if fnmatchcase(name, pattern)
    ]
    assert found, f"package-data does not name reports/page.txt: {data}"
