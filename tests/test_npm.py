"""Installing from a package lock, with an npm that notes how it was called."""

from __future__ import annotations

from pathlib import Path

import pytest

import npm

NPM = '#!/bin/sh\necho "$@" >>"$CALLS"\nmkdir -p node_modules\n'


class Machine:
    """What is on PATH, and a project with a lock."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.lock_folder = folder / "bin", folder / "project"
        self.cache = folder / "cache"
        for made in (self.bin, self.lock_folder):
            made.mkdir()
        for name in npm.FILES:
            (self.lock_folder / name).write_text(f"{name} 1")
        self.calls_path = folder / "calls"
        monkeypatch.setenv("CALLS", str(self.calls_path))
        monkeypatch.setenv("PATH", f"{self.bin}:/bin:/usr/bin")
        self.add("node", "#!/bin/sh\necho v22.1.0\n")
        self.add("npm", NPM)

    def add(self, name: str, script: str) -> None:
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def install(self) -> None:
        npm.install(self.lock_folder, self.cache, 30)

    def calls(self) -> int:
        return len(self.calls_path.read_text().splitlines())


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with node and npm."""
    return Machine(tmp_path, monkeypatch)


def test_it_installs_once(machine: Machine) -> None:
    machine.install()
    machine.install()
    assert machine.calls() == 1
    assert (machine.cache / ".npmrc").read_text() == ".npmrc 1"
    assert machine.calls_path.read_text().startswith("install --no-save ")


def test_another_lock_is_installed(machine: Machine) -> None:
    machine.install()
    (machine.lock_folder / "package-lock.json").write_text("2")
    machine.install()
    assert machine.calls() == 2
    assert (machine.cache / "package-lock.json").read_text() == "2"


def test_an_installation_that_failed_is_tried_again(machine: Machine) -> None:
    machine.add("npm", f"{NPM}echo 'npm error code EINTEGRITY' >&2\nexit 1\n")
    with pytest.raises(RuntimeError, match="EINTEGRITY"):
        machine.install()
    machine.add("npm", NPM)
    machine.install()
    assert machine.calls() == 2


@pytest.mark.parametrize("code", ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED"])
def test_without_a_network_it_says_so(machine: Machine, code: str) -> None:
    machine.add("npm", f"#!/bin/sh\necho 'npm error code {code}' >&2\nexit 1\n")
    with pytest.raises(npm.Unavailable, match="reaches no registry"):
        machine.install()


def test_an_old_node_is_named(machine: Machine) -> None:
    machine.add("node", "#!/bin/sh\necho v18.20.1\n")
    with pytest.raises(npm.Unavailable, match=r"node v18\.20\.1 is older than 20"):
        machine.install()


@pytest.mark.parametrize("name", ["node", "npm"])
def test_without_node_or_npm_it_says_so(
    machine: Machine, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.bin / name).unlink()
    monkeypatch.setenv("PATH", str(machine.bin))
    with pytest.raises(npm.Unavailable, match="not installed"):
        machine.install()
