"""Detectors of runaway reasoning, one a module, and the monitor that runs them."""

from trackside.loops.cycles import Cycles
from trackside.loops.finding import Detector, Finding
from trackside.loops.ngrams import Ngrams
from trackside.loops.openings import Openings
from trackside.loops.paragraphs import Paragraphs
from trackside.loops.sentences import Sentences
from trackside.loops.staleness import Staleness

DETECTORS: dict[str, type[Detector]] = {
    "staleness": Staleness,
    "cycles": Cycles,
    "paragraphs": Paragraphs,
    "ngrams": Ngrams,
    "sentences": Sentences,
    "openings": Openings,
}
"""Every detector by its public name, the value of the option `guard_detectors`."""

__all__ = ["DETECTORS", "Detector", "Finding"]
