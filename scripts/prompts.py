"""Prompts of which it is known what the embedded engine does with them.

At temperature 0, with the project's own template. Looping: within 400 tokens the
reasoning runs into a cycle and does not leave it. Healthy: the model closes its
reasoning by itself, answers and stops.
"""

from collections.abc import Mapping
from dataclasses import dataclass

type Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's messages, under a name."""

    name: str
    messages: tuple[Message, ...]


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _assistant(reasoning: str, text: str) -> Message:
    return {"role": "assistant", "reasoning_content": reasoning, "content": text}


_TOPICS = (
    "ways to cook rice without a lid",
    "reasons why a Docker container exits at once",
    "edge cases of a function that divides two numbers",
    "names for a small coffee shop",
    "things to check before a release",
    "steps to find a flaky test",
    "reasons why a web page loads slowly",
    "causes of a deadlock between two threads",
    "reasons why a build fails on one machine only",
    "ideas for a birthday party",
    "things to pack for a hike",
    "reasons why a plant dies",
    "ways to save water at home",
    "steps to debug a segmentation fault",
    "questions to ask in a code review",
    "reasons why a test passes alone and fails in the suite",
    "ways to make a function faster",
    "reasons why a login fails",
    "tools that could edit a file",
    "moves in the opening of a chess game",
    "ways to get from Rome to Paris",
    "books about the sea",
    "inputs that could crash a JSON parser",
    "properties of a good hash function",
    "reasons to use a queue",
    "signs that a proof is wrong",
    "ways to greet a customer",
    "reasons why a cache grows stale",
    "reasons why a bridge can fall",
    "causes of a memory leak in a web server",
    "questions a detective asks",
    "parts of a bicycle",
    "steps to plant a tree",
    "reasons why a query is slow",
    "dangers of a deep lake",
    "reasons why a user leaves a site",
    "jobs in a hospital",
    "reasons why an index is not used",
    "ways to cut a cake in eight pieces",
    "reasons why a clock runs slow",
    "hints that an email is a fraud",
    "steps to bring a server back after a crash",
    "things that can go wrong in a backup",
    "excuses for being late",
    "uses of an old newspaper",
)

LOOPING = tuple(
    Prompt(
        topic.replace(" ", "-").lower(),
        (_user(f"Think of all {topic}. List every one before you answer."),),
    )
    for topic in _TOPICS
)

# From these the model learns that thinking ends.
_BRIEF = (
    {
        "role": "system",
        "content": "You think in one short sentence, then you answer in one short"
        " sentence.",
    },
    _user("What colour is grass?"),
    _assistant("The user asks about grass. Grass is green.", "Grass is green."),
    _user("How many legs has a dog?"),
    _assistant(
        "The user asks about dogs. A dog has four legs.", "A dog has four legs."
    ),
    _user("What do cows drink?"),
    _assistant("The user asks about cows. Cows drink water.", "Cows drink water."),
)

_QUESTIONS = (
    "What is the capital of France?",
    "How many days has a week?",
    "What colour is the sky?",
    "What is the opposite of hot?",
    "Where do fish live?",
    "What is two plus two?",
    "Which animal says meow?",
    "What do bees make?",
    "How many wheels has a car?",
    "Who writes books?",
    "What do you wear on your feet?",
    "What do birds lay?",
)

HEALTHY = tuple(
    Prompt(question.rstrip("?").replace(" ", "-").lower(), (*_BRIEF, _user(question)))
    for question in _QUESTIONS
)
