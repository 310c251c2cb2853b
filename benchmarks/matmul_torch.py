#!/usr/bin/env python3
"""tessera.matmul beside torch.matmul over the list of shapes of benchmarks/matmul.cpp, in one process: normally
distributed inputs, the L2 cache filled with clean lines of other memory before every run, both in turns, CUDA events,
medians. Every result is compared first.

  python3 benchmarks/matmul_torch.py --build build/portable/src/libtessera.a --json torch.json
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "python"))
import torch_on_card  # noqa: E402: builds the module

SQUARES = [(s, s, s) for s in (1024, 2048, 4096, 8192, 16384)]
SHORT = [(8192, 8192, k) for k in (512, 1024, 2048)]
WIDE = [(4096, n, k) for n, k in ((2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048))]
FLAT = [(m, n, k) for m in (128, 64, 16, 1) for n, k in ((7168, 16384), (2112, 7168), (7168, 2048))]
OTHER = [(8192, 1280, 8192), (8192, 28672, 4096), (8192, 4096, 14336), (3000, 1000, 2000), (384, 2048, 2048)]


def time_one(work, flush):
    flush.sum()  # reads it: lines that were written would be written back on the contender's time
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def measure(tessera, dtype, shape, rounds, flush):
    m, n, k = shape
    a, b = torch.randn(m, k, device="cuda", dtype=dtype), torch.randn(n, k, device="cuda", dtype=dtype)
    ours, theirs = torch.empty(m, n, device="cuda", dtype=dtype), torch.empty(m, n, device="cuda", dtype=dtype)
    contenders = {"tessera": lambda: tessera.matmul(a, b, ours), "torch": lambda: torch.matmul(a, b.t(), out=theirs)}
    for work in contenders.values():
        work()
    difference = (ours.float() - theirs.float()).abs().max().item() / theirs.float().abs().max().item()
    names, times = list(contenders), {name: [] for name in contenders}
    for turn in range(rounds + 2):
        for i in range(len(names)):
            name = names[(i + turn) % len(names)]
            elapsed = time_one(contenders[name], flush)
            if turn >= 2:
                times[name].append(elapsed)
    row = {"size": list(shape), "largest_difference": difference}
    row.update({f"{name}_us": statistics.median(t) for name, t in times.items()})
    row["ratio"] = row["torch_us"] / row["tessera_us"]
    print(f"{m:6} {n:6} {k:6}  torch {row['torch_us']:9.1f}  tessera {row['tessera_us']:9.1f}  {row['ratio']:.3f}",
          "" if difference < 0.01 else "WRONG", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", metavar="LIBTESSERA", help="compile the module here, with this libtessera.a")
    parser.add_argument("--dtype", choices=["float16", "bfloat16"], default="float16")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.build:
        torch_on_card.build(options.build)
    import tessera

    flush = torch.zeros(32 << 20, device="cuda", dtype=torch.int32)
    dtype = getattr(torch, options.dtype)
    rows = [measure(tessera, dtype, s, options.rounds, flush) for s in SQUARES + SHORT + WIDE + FLAT + OTHER]
    mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows))
    print(f"geometric mean: {mean:.3f} times as fast as PyTorch {torch.__version__}")
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps({"benchmark": "matmul beside PyTorch", "dtype": options.dtype, "rounds": options.rounds,
                        "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                        "cuda": torch.version.cuda, "geometric_mean": mean, "shapes": rows}, indent=1) + "\n")
    return 0 if all(row["largest_difference"] < 0.01 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
