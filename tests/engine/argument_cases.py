"""Command lines behind `vllm serve`, and whether the real parser of vLLM 0.32.0 takes them.

`tests/vllm/test_real_parser.py` asks the real parser about every one of them.
"""

PROFILE_B = (
    "/model", "--served-model-name", "deepseek-v4-flash", "--trust-remote-code", "--kv-cache-dtype", "fp8",
    "--block-size", "256", "--max-model-len", "32768", "--gpu-memory-utilization", "0.95",
    "--max-num-batched-tokens", "2048", "--max-num-seqs", "192", "--tokenizer-mode", "deepseek_v4",
    "--no-scheduler-reserve-full-isl", "--compilation-config",
    '{"cudagraph_mode":"FULL_AND_PIECEWISE","custom_ops":["all"]}', "--port", "8000",
    "--speculative-config", '{"method":"deepseek_mtp","num_speculative_tokens":2}',
)  # fmt: skip

TAKEN: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "only a model": ("m",),
    "the published configuration B": PROFILE_B,
    "model behind the flags": ("--port", "8000", "m"),
    "equals sign": ("m", "--port=8000", "--dtype=bfloat16"),
    "underscores": ("m", "--max_model_len", "256", "--enforce_eager"),
    "unique prefix": ("m", "--max-model-l", "256"),
    "suffix k": ("m", "--max-model-len", "256k"),
    "suffix K": ("m", "--max-model-len", "32K"),
    "fraction with k": ("m", "--max-model-len", "25.6k"),
    "auto": ("m", "--max-model-len", "auto"),
    "negative number": ("m", "--seed", "-1"),
    "short flag": ("m", "-tp", "2"),
    "short flag with equals sign": ("m", "-tp=2"),
    "negated switch": ("m", "--no-enable-prefix-caching"),
    "negated switch with underscores": ("m", "--no_enable_prefix_caching"),
    "None where it is a value": ("m", "--tool-call-parser", "None"),
    "list of values": ("m", "--served-model-name", "a", "b", "--port", "8000"),
    "list of numbers": ("m", "--cudagraph-capture-sizes", "1", "2", "4"),
    "dotted key": ("m", "--compilation-config.cudagraph_mode", "PIECEWISE"),
    "dotted key with equals sign": ("m", "-cc.cudagraph_mode=PIECEWISE"),
    "optimization level": ("m", "-O3"),
    "folded choice": ("m", "--moe-backend", "Flashinfer-Cutlass"),
    "alias": ("m", "--device-memory-utilization", "0.5"),
    "value not given where it is optional": ("m", "--hf-token"),
    "last one wins": ("m", "--port", "8000", "--port", "8001"),
    "bytes of the cache": ("m", "--kv-cache-memory-bytes", "4G"),
    "value that parsing does not judge": ("m", "--block-size", "7", "--gpu-memory-utilization", "1.5"),
    "unknown parser name": ("m", "--reasoning-parser", "nope"),
}

REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown flag": (("m", "--no-such-flag", "3"), "--no-such-flag: no such flag of the server"),
    "misspelt": (("m", "--max-modle-len", "3"), "--max-modle-len: no such flag of the server, did you mean --max-model-len?"),
    "bad choice": (("m", "--kv-cache-dtype", "fp7"), "--kv-cache-dtype fp7: expected one of auto, bfloat16"),
    "choice in the wrong case": (("m", "--kv-cache-dtype", "FP8"), "--kv-cache-dtype FP8: expected one of"),
    "bad number": (("m", "--max-num-seqs", "abc"), "--max-num-seqs abc: expected a whole number"),
    "number with a fraction": (("m", "--max-num-seqs", "1.5"), "--max-num-seqs 1.5: expected a whole number"),
    "suffix where there is none": (("m", "--max-num-seqs", "1k"), "--max-num-seqs 1k: expected a whole number"),
    "bad long number": (("m", "--max-model-len", "12x"), "--max-model-len 12x: expected a whole number"),
    "fraction with K": (("m", "--max-model-len", "25.6K"), "--max-model-len 25.6K: expected a whole number"),
    "bad float": (("m", "--gpu-memory-utilization", "most"), "--gpu-memory-utilization most: expected a number"),
    "bad JSON": (("m", "--compilation-config", '{"a":'), '--compilation-config {"a":: expected JSON'),
    "value for a switch": (("m", "--enforce-eager=true"), "--enforce-eager: is a switch and takes no value ('true')"),
    "word after a switch": (("m", "--enforce-eager", "true"), "true: the server takes one model"),
    "no value": (("m", "--port"), "--port: expected a value"),
    "flag instead of a value": (("m", "--port", "--enforce-eager"), "--port: expected a value"),
    "two models": (("m", "n"), "n: the server takes one model"),
    "ambiguous prefix": (("m", "--max-num", "3"), "--max-num: is short for several flags: --max-num-"),
    "bad number in a list": (("m", "--cudagraph-capture-sizes", "1", "x"), "--cudagraph-capture-sizes x: expected a whole"),
    "negation of what has none": (("m", "--no-port"), "--no-port: no such flag of the server, did you mean"),
    "unknown short flag": (("m", "-zz", "3"), "-zz: no such flag of the server"),
}  # fmt: skip
