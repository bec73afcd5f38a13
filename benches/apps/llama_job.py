# SPDX-License-Identifier: MIT
"""llama_job.py make PATH BYTES | say PATH"""
import json
import os
import sys
import time

WIDTH, INNER, HEADS = 2048, 5632, 16
BLOCK = 32
TOKENS = 4


def weights(r, rows, columns):
    """Q8_0: each 32 have a scale, of 16 bits, before them."""
    import numpy as np
    a = np.empty((rows, columns // BLOCK, 2 + BLOCK), np.uint8)
    a[:, :, :2] = np.full(1, 0.0002, np.float16).view(np.uint8)
    a[:, :, 2:] = r.integers(0, 256, (rows, columns // BLOCK, BLOCK), np.uint8)
    return a.reshape(rows, -1)


def vocabulary(w, gguf):
    words = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    words += ["\u2581", *"abcdefghijklmnopqrstuvwxyz0123456789"]
    words += ["\u2581w%d" % i for i in range(765)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (len(words) - 259)
    w.add_tokenizer_model("llama")
    w.add_token_list(words)
    w.add_token_scores([-float(i) for i in range(len(words))])
    w.add_token_types(kinds)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    return len(words)


def layer(n):
    return [(f"blk.{n}.attn_{x}.weight", WIDTH, WIDTH) for x in ("q", "k", "v", "output")] + [
        (f"blk.{n}.ffn_gate.weight", INNER, WIDTH), (f"blk.{n}.ffn_up.weight", INNER, WIDTH),
        (f"blk.{n}.ffn_down.weight", WIDTH, INNER)]


def make(path, size):
    import gguf
    import numpy as np
    each = sum(a * b for _, a, b in layer(0)) // BLOCK * (2 + BLOCK)
    layers, r = max(size // each, 1), np.random.Generator(np.random.PCG64(5))
    w = gguf.GGUFWriter(path + ".new", "llama", use_temp_file=True)
    w.add_name("random")
    w.add_context_length(512)
    w.add_embedding_length(WIDTH)
    w.add_block_count(layers)
    w.add_feed_forward_length(INNER)
    w.add_head_count(HEADS)
    w.add_head_count_kv(HEADS)
    w.add_rope_dimension_count(WIDTH // HEADS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_file_type(7)
    words = vocabulary(w, gguf)

    def put(name, rows, columns):
        w.add_tensor(name, weights(r, rows, columns), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    put("token_embd.weight", words, WIDTH)
    put("output.weight", words, WIDTH)
    ones = np.ones(WIDTH, np.float32)
    w.add_tensor("output_norm.weight", ones)
    for n in range(layers):
        for one in layer(n):
            put(*one)
        w.add_tensor(f"blk.{n}.attn_norm.weight", ones)
        w.add_tensor(f"blk.{n}.ffn_norm.weight", ones)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    os.rename(path + ".new", path)


def say(path):
    from gpt4all import GPT4All
    t0 = time.monotonic()
    m = GPT4All(os.path.basename(path), model_path=os.path.dirname(path),
                allow_download=False, n_threads=2, n_ctx=128, device="cpu")
    text = m.generate("w1 w2", max_tokens=TOKENS, temp=0, top_k=1)
    seconds = time.monotonic() - t0
    m.close()
    print(json.dumps({"sum": text.encode().hex(), "seconds": seconds}))


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    say(sys.argv[2])
