import msgspec
import pytest

from trackside.wire.effort import Thinking, read_effort


@pytest.mark.parametrize(
    ("body", "effort", "budget"),
    [
        pytest.param({}, None, None, id="not-told"),
        pytest.param({"reasoning_effort": "high"}, "high", None, id="openai"),
        pytest.param({"reasoning_effort": "Minimal"}, "minimal", None, id="upper-case"),
        pytest.param({"reasoning_effort": "none"}, "none", None, id="openai-none"),
        pytest.param({"reasoning_effort": None}, None, None, id="null"),
        pytest.param({"reasoning_effort": 0.5}, None, None, id="sglang-number"),
        pytest.param({"reasoning": {"effort": "low"}}, "low", None, id="responses"),
        pytest.param(
            {"reasoning": {"enabled": True, "max_tokens": 2000}},
            None,
            2000,
            id="openrouter-budget",
        ),
        pytest.param({"reasoning": {"enabled": False}}, "none", None, id="openrouter"),
        pytest.param({"reasoning": "medium"}, "medium", None, id="lmstudio"),
        pytest.param({"reasoning": "off"}, "none", None, id="lmstudio-off"),
        pytest.param({"reasoning": "on"}, None, None, id="lmstudio-on"),
        pytest.param(
            {"chat_template_kwargs": {"enable_thinking": False}},
            "none",
            None,
            id="template-off",
        ),
        pytest.param(
            {"chat_template_kwargs": {"thinking": False}},
            "none",
            None,
            id="deepseek-template-off",
        ),
        pytest.param(
            {"chat_template_kwargs": {"thinking": True, "reasoning_effort": "low"}},
            "low",
            None,
            id="template-effort",
        ),
        pytest.param({"enable_thinking": False}, "none", None, id="qwen-off"),
        pytest.param(
            {"enable_thinking": True, "thinking_budget": 512}, None, 512, id="qwen"
        ),
        pytest.param({"thinking": {"type": "disabled"}}, "none", None, id="glm-off"),
        pytest.param(
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            None,
            1024,
            id="anthropic",
        ),
        pytest.param({"thinking": False}, "none", None, id="thinking-false"),
        pytest.param(
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
            "max",
            None,
            id="anthropic-effort",
        ),
        pytest.param({"think": False}, "none", None, id="ollama-off"),
        pytest.param({"think": True}, None, None, id="ollama-on"),
        pytest.param({"think": "high"}, "high", None, id="ollama-level"),
        pytest.param({"thinking_token_budget": 20}, None, 20, id="vllm-budget"),
        pytest.param({"thinking_token_budget": -1}, None, None, id="no-limit"),
        pytest.param({"thinking_budget_tokens": 7}, None, 7, id="llama-alias"),
        pytest.param({"reasoning_budget_tokens": 0}, "none", 0, id="zero-is-off"),
        pytest.param({"max_thinking_tokens": 9}, None, 9, id="sglang-budget"),
        pytest.param(
            {"chat_template_kwargs": {"thinking_budget": 9}}, None, 9, id="seed-oss"
        ),
        pytest.param(
            {
                "reasoning_effort": "high",
                "chat_template_kwargs": {"enable_thinking": False},
            },
            "none",
            None,
            id="off-wins",
        ),
        pytest.param(
            {
                "chat_template_kwargs": [1],
                "thinking": 7,
                "reasoning": None,
                "output_config": "x",
                "thinking_budget": "9",
            },
            None,
            None,
            id="odd",
        ),
    ],
)
def test_effort_is_read_from_every_form(body, effort, budget):
    thinking = msgspec.convert(body, Thinking)
    assert read_effort(thinking) == (effort, budget)
