"""The README says what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_option_tables_are_up_to_date() -> None:
    script = ROOT / "scripts" / "docs.py"
    assert (
        subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0
    )


def test_every_dependency_has_its_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    block = project.partition("dependencies = [")[2].partition("]")[0]
    for name in re.findall(r'"([\w-]+)', block):
        assert re.search(rf"^\| .*{name}.* \| ", README, re.MULTILINE), name


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"scripts/\w+(?:\.py)?", README)))
)
def test_every_command_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    "script",
    sorted(p.name for p in (ROOT / "scripts").glob("*.py") if p.name != "mitm.py"),
)
def test_commands_explain_themselves(script: str) -> None:
    text = (ROOT / "scripts" / script).read_text()
    if "argparse" not in text:
        return
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "scripts/" in done.stdout
