from __future__ import annotations

import pytest

from trackside.prefix.surrogates import mend_surrogates


@pytest.mark.parametrize(
    ("raw", "mended"),
    [
        pytest.param(rb'"\ud83d\ude00"', rb'"\ud83d\ude00"', id="pair"),
        pytest.param(rb'"a\ud83d"', rb'"a\ufffd"', id="high"),
        pytest.param(rb'"\uDE00b"', rb'"\ufffdb"', id="low"),
        pytest.param(rb'"\\ud83d"', rb'"\\ud83d"', id="escaped-backslash"),
        pytest.param(rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"', id="three"),
    ],
)
def test_lone_surrogates_are_mended_in_place(raw: bytes, mended: bytes) -> None:
    assert mend_surrogates(raw) == mended
    assert len(mended) == len(raw)
