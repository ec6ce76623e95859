"""Budgets per effort level."""

import pytest

from trackside.loops.budget import DEFAULT, Budgets, parse


@pytest.mark.parametrize(
    ("effort", "limit"),
    [
        pytest.param("low", 4096, id="low"),
        pytest.param("medium", 12288, id="medium"),
        pytest.param("high", 24576, id="high"),
        pytest.param("max", 49152, id="max"),
        pytest.param("minimal", 4096, id="minimal-is-low"),
        pytest.param("xhigh", 49152, id="xhigh-is-max"),
        pytest.param(" High ", 24576, id="case-and-space"),
        pytest.param(None, 24576, id="not-told"),
        pytest.param("none", 24576, id="none"),
        pytest.param("enormous", 24576, id="unknown"),
    ],
)
def test_default_limits(effort, limit):
    assert parse(DEFAULT).limit(effort) == limit


def test_zero_means_no_limit():
    budgets = parse("low:0,default:100")
    assert budgets.limit("low") is None
    assert budgets.limit("high") == 100
    assert parse("default:0").limit("max") is None


def test_nothing_given_limits_nothing():
    assert parse("") == Budgets({})
    assert parse("").limit("high") is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param("high", "got 'high', want LEVEL:TOKENS", id="no-number"),
        pytest.param("high:", "got 'high:'", id="empty-number"),
        pytest.param("high:-1", "got 'high:-1'", id="negative"),
        pytest.param("high:1e3", "got 'high:1e3'", id="float"),
        pytest.param("high:４", "got 'high:４'", id="not-ascii"),
        pytest.param("xhigh:5", "no level 'xhigh', want one of low", id="alias"),
        pytest.param("high:1,high:2", "'high' is given twice", id="twice"),
    ],
)
def test_bad_specs_are_named(spec, message):
    with pytest.raises(ValueError, match=message):
        parse(spec)
