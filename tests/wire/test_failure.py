import json

import pytest

from trackside.wire.chunk import decode
from trackside.wire.failure import read_failure
from trackside.wire.pieces import Failure


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        pytest.param(
            {"error": {"code": 400, "message": "too long", "type": "exceed_context"}},
            Failure("too long", 400),
            id="llama.cpp",
        ),
        pytest.param(
            {"error": {"message": "no", "type": "BadRequestError", "code": None}},
            Failure("no", "BadRequestError"),
            id="type-for-want-of-code",
        ),
        pytest.param({"error": "no model"}, Failure("no model", None), id="mlx-lm"),
        pytest.param(
            {"error": {"reason": 1}}, Failure('{"reason":1}', None), id="no-message"
        ),
        pytest.param(
            {"object": "error", "message": "no", "code": 404},
            Failure("no", 404),
            id="sglang",
        ),
        pytest.param({"detail": "Not Found"}, Failure("Not Found", None), id="fastapi"),
        pytest.param(
            {"detail": [{"loc": ["body"]}]},
            Failure('[{"loc":["body"]}]', None),
            id="fastapi-validation",
        ),
        pytest.param({"choices": [], "detail": "x"}, None, id="detail-of-an-answer"),
        pytest.param({"choices": [], "error": None}, None, id="null"),
        pytest.param({"id": "x"}, None, id="none"),
    ],
)
def test_errors_are_read_from_every_form(body, failure):
    said = decode(json.dumps(body).encode())
    assert read_failure(said, is_answer=said.choices is not None) == failure
