"""Installs what a package-lock.json pins, by the machine's own npm."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

OLDEST_NODE = 20
FILES = ("package.json", "package-lock.json", ".npmrc")
OFFLINE = re.compile(
    "ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH"
    "|EHOSTUNREACH|ERR_SOCKET_TIMEOUT"
)
"""What npm says where there is no network."""
SHOWN_LINES = 12


class Unavailable(Exception):  # it is no error of the project's
    """This machine has no node, an old one, or no network; says which."""


def install(lock_folder: Path, folder: Path, limit_s: float) -> None:
    """Install into a folder, unless it has what the lock pins.

    No package gets to run a script of its own.

    Parameters:
        lock_folder: holds package.json and package-lock.json.
        folder: gets node_modules; made if need be, may be `lock_folder`.
        limit_s: how long npm may take.

    Raises:
        Unavailable: it can't be done on this machine.
        RuntimeError: npm reaches a registry and fails; with what it said.
    """
    npm = check_node()
    lock = (lock_folder / "package-lock.json").read_text()
    stamp = folder / "node_modules" / ".stamp"
    if stamp.exists() and stamp.read_text() == lock:
        return
    folder.mkdir(parents=True, exist_ok=True)
    if folder != lock_folder:
        for name in FILES:
            shutil.copy(lock_folder / name, folder)
    quick = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000")
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund")
    try:
        done = subprocess.run(
            # not `npm ci`: it refuses a lock without the binaries of other platforms,
            # and not every registry has those
            [npm, "install", "--no-save", *quick, *quiet],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"npm was not done after {limit_s:g} s") from error
    if done.returncode and OFFLINE.search(done.stderr):
        raise Unavailable("npm reaches no registry")
    if done.returncode:
        said = "\n".join(done.stderr.splitlines()[:SHOWN_LINES])
        raise RuntimeError(f"npm could not install {lock_folder}:\n{said}")
    stamp.write_text(lock)


def check_node() -> str:
    """Return where npm is.

    Raises:
        Unavailable: there is none, or its node is too old.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        raise Unavailable("node and npm are not installed")
    version = subprocess.run(
        [node, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if int((re.findall(r"\d+", version) or ["0"])[0]) < OLDEST_NODE:
        raise Unavailable(f"node {version} is older than {OLDEST_NODE}")
    return npm
