"""`scripts/setup` with a uv that notes how it was called, and installs nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = ("cat", "cksum", "dirname", "rm", "sh")

UV = """#!/bin/sh
echo "$@" >>"$CALLS"
case "$FAILS" in
    venv | pip) [ "$1" = "$FAILS" ] && exit 1 ;;
    engine) for word; do [ "$word" = locks/engine.txt ] && exit 1; done ;;
esac
if [ "$1" = venv ]; then
    for place; do :; done
    mkdir -p "$place/bin" && ln -s "$PYTHON" "$place/bin/python"
fi
exit 0
"""
NO_USER = "#!/bin/sh\necho no-such-user\n"
OLD_PYTHON = "#!/bin/sh\nexit 1\n"


class Clone:
    """A copy of what setup reads, on a machine that has nothing but `bin/`."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a clone"
        self.bin = folder / "bin"
        self.calls_path = folder / "calls"
        self.home = folder / "home"
        for made in (self.root / "scripts", self.bin, self.home):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "setup", self.root / "scripts")
        shutil.copytree(ROOT / "locks", self.root / "locks")
        for name in (*NEEDED, "ln", "mkdir"):
            (self.bin / name).symlink_to(shutil.which(name) or name)
        # Setup also looks into the pyenv of the user it runs as.
        self.add("id", NO_USER)
        self.add("python3", OLD_PYTHON)

    def add(self, name: str, script: str) -> None:
        """Put a command on PATH."""
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def setup(self, **env: str) -> subprocess.CompletedProcess[str]:
        """Run it from another folder; nothing of this machine's environment counts."""
        return subprocess.run(
            [self.root / "scripts" / "setup"],
            cwd="/",
            env={
                "PATH": str(self.bin),
                "PYTHON": sys.executable,
                "CALLS": str(self.calls_path),
                "FAILS": "",
                **env,
            },
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def calls(self) -> list[str]:
        """Return the calls of uv since the last time, each by its first words."""
        if not self.calls_path.exists():
            return []
        lines = self.calls_path.read_text().splitlines()
        self.calls_path.unlink()
        return [
            "venv" if line.startswith("venv") else line.split()[-1] for line in lines
        ]


ALL = ["venv", "locks/dev.txt", "locks/engine.txt"]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone on a machine with uv."""
    clone = Clone(tmp_path)
    clone.add("uv", UV)
    return clone


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({}, id="HOME unset"),
        pytest.param({"HOME": ""}, id="HOME empty"),
        pytest.param({"HOME": "/nowhere", "PYENV_ROOT": "/nowhere"}, id="no pyenv"),
    ],
)
def test_without_a_python_it_says_what_to_install(
    tmp_path: Path, env: dict[str, str]
) -> None:
    result = Clone(tmp_path).setup(**env)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert "install Python 3.12" in line
    assert "or uv" in line


def test_a_python_under_pyenv_is_found(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    versions = tmp_path / "pyenv" / "versions" / "3.12.99" / "bin"
    versions.mkdir(parents=True)
    (versions / "python3").symlink_to("/bin/false")
    assert clone.setup(PYENV_ROOT=str(tmp_path / "pyenv")).returncode == 1
    (versions / "python3").unlink()
    stop = '#!/bin/sh\ncase "$*" in *venv\\ .venv) echo "$0" >&2; exit 7;; esac\n'
    (versions / "python3").write_text(stop)
    (versions / "python3").chmod(0o755)
    result = clone.setup(PYENV_ROOT=str(tmp_path / "pyenv"))
    assert result.returncode == 7
    assert str(versions / "python3") in result.stderr


def test_it_installs_both_locks_once(clone: Clone) -> None:
    assert clone.setup().returncode == 0
    assert clone.calls() == ALL
    result = clone.setup()
    assert (result.returncode, clone.calls()) == (0, [])
    assert result.stderr == "setup: ready\n"


@pytest.mark.parametrize("step", ["venv", "pip"])
def test_a_half_made_venv_heals(clone: Clone, step: str) -> None:
    broken = clone.setup(FAILS=step)
    assert broken.returncode == 1
    assert "uv could not make .venv" in broken.stderr
    clone.calls()
    left = clone.root / ".venv" / "left behind"
    left.parent.mkdir(exist_ok=True)
    left.touch()
    assert clone.setup().returncode == 0
    assert clone.calls() == ALL
    assert not left.exists()


def test_a_python_that_went_away_heals(clone: Clone) -> None:
    clone.setup()
    clone.calls()
    python = clone.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/gone/python3.12")
    assert clone.setup().returncode == 0
    assert clone.calls() == ALL


@pytest.mark.parametrize(
    ("lock", "again"),
    [
        pytest.param("dev.txt", ALL, id="dev"),
        pytest.param("engine.txt", ["locks/engine.txt"], id="engine"),
    ],
)
def test_a_changed_lock_is_installed(clone: Clone, lock: str, again: list[str]) -> None:
    clone.setup()
    clone.calls()
    with (clone.root / "locks" / lock).open("a") as file:
        file.write("# changed\n")
    assert clone.setup().returncode == 0
    assert clone.calls() == again


def test_a_moved_project_is_made_anew(clone: Clone) -> None:
    clone.setup()
    clone.calls()
    clone.root = clone.root.rename(clone.root.with_name("moved"))
    assert clone.setup().returncode == 0
    assert clone.calls() == ALL


def test_without_the_engine_it_names_what_serves_instead(clone: Clone) -> None:
    result = clone.setup(FAILS="engine")
    assert result.returncode == 0
    assert "--capture" in result.stderr
    assert clone.calls() == ALL
    assert clone.setup().returncode == 0
    assert clone.calls() == ["locks/engine.txt"], "it tries again"


def test_no_lock_names_a_registry() -> None:
    locks = [*ROOT.glob("locks/*"), *ROOT.glob("*/*/package-lock.json")]
    assert len(locks) > 2
    for lock in locks:
        text = lock.read_text()
        assert '"resolved"' not in text, lock
        assert "index-url" not in text, lock


def test_it_is_a_script_anyone_can_run() -> None:
    for name in ("setup", "test", "lock"):
        assert os.access(ROOT / "scripts" / name, os.X_OK)
