"""All three addons, in the order they need: diff sees what the client sent, the guard
may then ask the engine for more, and turns accounts for what came of it.

Example:
    mitmdump -s addons/suite.py --mode reverse:http://127.0.0.1:8000
"""

from diff import Diff
from guard import Guard
from turns import Turns

addons = [Diff(), Guard(), Turns()]
