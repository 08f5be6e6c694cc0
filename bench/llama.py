#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.cpp's llama-bench on heddle's Vulkan driver against ggml's own CPU backend, by turns.

    bench/llama.py [--heddle CMD] [--llama-bench CMD] [--rounds N] [--types f16,q8_0,q4_0]
                   [--depth N] [--set NAME=VALUE]...

Makes a llama of random weights (no model is needed, none is downloaded), runs both backends on it
one after the other, N rounds, and prints of each type of weights the medians of the tokens per
second, for a prompt (pp) and for generation (tg), and the median of the rounds' ratios; --depth
has so many tokens before them, --set sets a variable of the driver's:

    llama q4_0 pp256: Vulkan 123.4 t/s, CPU 100.0 t/s, ratio 1.23 (1.20 to 1.25) of 5
"""
import argparse
import json
import os
import random
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile

VOCABULARY = 512
SHAPE = dict(layers=4, width=2048, heads=32, kv_heads=8, forward=5632)
# name: (number in GGUF, weights and bytes of a block, bytes of its scale)
TYPES = {"f32": (0, 1, 4, 0), "f16": (1, 1, 2, 0), "q4_0": (2, 32, 18, 2), "q8_0": (8, 32, 34, 2)}
# The high byte of a float16 from a random one: a sign and an exponent from 2^-9 to 2^-6.
HALVES = bytes((b & 0x80) | (6 + (b >> 2 & 3)) << 2 | (b & 3) for b in range(256))


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def metadata():
    """llama's parameters and a vocabulary of bytes."""
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    tokens += ["<%d>" % i for i in range(len(tokens), VOCABULARY)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (VOCABULARY - 259)
    array = lambda kind, body: struct.pack("<IQ", kind, VOCABULARY) + body
    number = lambda n: (4, struct.pack("<I", n))
    return {
        "general.architecture": (8, text("llama")),
        "llama.context_length": number(2048),
        "llama.embedding_length": number(SHAPE["width"]),
        "llama.block_count": number(SHAPE["layers"]),
        "llama.feed_forward_length": number(SHAPE["forward"]),
        "llama.attention.head_count": number(SHAPE["heads"]),
        "llama.attention.head_count_kv": number(SHAPE["kv_heads"]),
        "llama.attention.layer_norm_rms_epsilon": (6, struct.pack("<f", 1e-5)),
        "llama.vocab_size": number(VOCABULARY),
        "tokenizer.ggml.model": (8, text("llama")),
        "tokenizer.ggml.tokens": (9, array(8, b"".join(map(text, tokens)))),
        "tokenizer.ggml.scores": (9, array(6, struct.pack("<%df" % VOCABULARY,
                                                          *(-i for i in range(VOCABULARY))))),
        "tokenizer.ggml.token_type": (9, array(5, struct.pack("<%dI" % VOCABULARY, *kinds))),
        "tokenizer.ggml.bos_token_id": number(1),
        "tokenizer.ggml.eos_token_id": number(2),
    }


def tensors(kind):
    """Name, columns, rows, type."""
    width, forward = SHAPE["width"], SHAPE["forward"]
    kv = width // SHAPE["heads"] * SHAPE["kv_heads"]
    yield from [("token_embd", width, VOCABULARY, kind), ("output", width, VOCABULARY, kind),
                ("output_norm", width, 1, "f32")]
    for layer in range(SHAPE["layers"]):
        for name, columns, rows, t in [
                ("attn_norm", width, 1, "f32"), ("ffn_norm", width, 1, "f32"),
                ("attn_q", width, width, kind), ("attn_k", width, kv, kind),
                ("attn_v", width, kv, kind), ("attn_output", width, width, kind),
                ("ffn_gate", width, forward, kind), ("ffn_up", width, forward, kind),
                ("ffn_down", forward, width, kind)]:
            yield "blk.%d.%s" % (layer, name), columns, rows, t


def weights(rng, n, kind):
    if kind == "f32":
        return struct.pack("<f", 1.0) * n
    _, block, size, scale = TYPES[kind]
    data = bytearray(rng.randbytes(n // block * size))
    if scale:  # one scale, 2^-10, for all blocks
        data[0::size] = bytes(n // block)
        data[1::size] = b"\x14" * (n // block)
    else:
        data[1::2] = data[1::2].translate(HALVES)
    return data


def write_model(path, kind):
    rng = random.Random(1)
    meta, names = metadata(), list(tensors(kind))
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(names), len(meta))
    for key, (value_kind, value) in meta.items():
        head += text(key) + struct.pack("<I", value_kind) + value
    offset = 0
    for name, columns, rows, t in names:
        number, block, size, _ = TYPES[t]
        sizes = (columns,) if rows == 1 else (columns, rows)
        head += text(name + ".weight") + struct.pack("<I", len(sizes))
        head += struct.pack("<%dQ" % len(sizes), *sizes) + struct.pack("<IQ", number, offset)
        offset += -(-columns * rows // block * size // 32) * 32
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32))
        for _, columns, rows, t in names:
            data = weights(rng, columns * rows, t)
            f.write(data + bytes(-len(data) % 32))


def measure(command, model, options, device):
    """Tokens per second: {"pp256": ..., "tg32": ...}. ggml's threads wait by spinning, so there may
    be as many as there are cores to run on, and llama-bench counts those of the machine."""
    command = command + ["-m", model, "-p", str(options.prompt), "-n", str(options.generate),
                         "-d", str(options.depth), "-r", "1", "-o", "json",
                         "-t", str(len(os.sched_getaffinity(0))), "-ngl", "99" if device else "0",
                         "-dev", device or "none"]
    got = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if got.returncode:
        sys.exit("%s\n%s" % (shlex.join(command), got.stderr[-2000:]))
    return {("tg%d" % r["n_gen"] if r["n_gen"] else "pp%d" % r["n_prompt"]): r["avg_ts"]
            for r in json.loads(got.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", default="heddle")
    parser.add_argument("--llama-bench", default="llama-bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--types", default="f16,q8_0,q4_0")
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--depth", type=int, default=0, help="tokens that are there before")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    cpu = shlex.split(options.llama_bench)
    with tempfile.TemporaryDirectory() as folder:
        driver = shlex.split(options.heddle) + ["vulkan", "HEDDLE_CACHE=" + folder] + options.set
        vulkan, full = driver + ["--"] + cpu, driver + ["HEDDLE_TIER=full", "--"] + cpu
        for kind in options.types.split(","):
            model = os.path.join(folder, kind + ".gguf")
            write_model(model, kind)
            # Compiles the pipelines, and keeps them: with two cores at work, the background takes
            # longer over those of f16 than a run does.
            measure(full, model, options, "Vulkan0")
            rounds = [(measure(vulkan, model, options, "Vulkan0"),
                       measure(cpu, model, options, None)) for _ in range(options.rounds)]
            for test in rounds[0][0]:
                ratios = sorted(v[test] / c[test] for v, c in rounds)
                print("llama %s %s: Vulkan %.1f t/s, CPU %.1f t/s, ratio %.2f (%.2f to %.2f) of %d"
                      % (kind, test + " behind %d" % options.depth * (options.depth > 0),
                         statistics.median(v[test] for v, _ in rounds),
                         statistics.median(c[test] for _, c in rounds), statistics.median(ratios),
                         ratios[0], ratios[-1], len(ratios)), flush=True)
            os.remove(model)


if __name__ == "__main__":
    main()
