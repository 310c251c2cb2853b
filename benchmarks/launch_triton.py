#!/usr/bin/env python3
"""Host time of Triton's launcher for the three shapes of arguments of benchmarks/launch.cpp, by the same protocol:
medians over repeats of a number of calls, the device synchronised between repeats outside of the time.

  python3 benchmarks/launch_triton.py --json triton.json
"""
import argparse
import json
import statistics
import subprocess
import time

import torch
import triton
import triton.language as tl


@triton.jit
def empty(n):
    pass


@triton.jit
def three(m, n, k, a, b, c, BLOCK: tl.constexpr):
    """One element of each: what is measured is the launcher, not the product."""
    tl.store(c, tl.load(a) + tl.load(b))


@triton.jit
def twenty(i0, i1, i2, i3, i4, i5, l0, l1, f0, f1, f2, f3, p0, p1, p2, p3, q0, q1, q2, q3):
    pass


def measure(name, launch, repeats, launches):
    for _ in range(3 * launches):
        launch()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(launches):
            launch()
        times.append((time.perf_counter() - begin) * 1e6 / launches)
        torch.cuda.synchronize()
    times.sort()
    row = {"name": name, "median_us": statistics.median(times), "low_us": times[len(times) // 10],
           "high_us": times[len(times) * 9 // 10]}
    print(f"{name:44} {row['median_us']:7.3f} us  ({row['low_us']:.3f} to {row['high_us']:.3f})")
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--launches", type=int, default=100)
    parser.add_argument("--json")
    options = parser.parse_args()
    half = [torch.zeros(8192, device="cuda", dtype=torch.float16) for _ in range(12)]
    f, h = torch.zeros(16, device="cuda"), torch.zeros(16, device="cuda", dtype=torch.float16)
    turn = 0

    def changing():
        nonlocal turn
        turn = (turn + 1) % 4
        three[(1,)](64, 128, 64, half[turn], half[4 + turn], half[8 + turn], BLOCK=64)

    bound = three[(1,)](64, 128, 64, half[0], half[4], half[8], BLOCK=64)  # the compiled kernel
    rows = []
    add = lambda name, launch: rows.append(measure(name, launch, options.repeats, options.launches))
    add("empty kernel", lambda: empty[(1,)](1))
    add("three pointers", lambda: three[(1,)](64, 128, 64, half[0], half[4], half[8], BLOCK=64))
    add("three pointers that change", changing)
    add("three pointers, compiled kernel called", lambda: bound[(1, 1, 1)](64, 128, 64, half[0], half[4], half[8], 64))
    add("20 arguments", lambda: twenty[(1,)](1, 2, 3, 4, 5, 6, 7 << 33, 8 << 33, 9.0, 10.0, 11.0, 12.0, f, f, f, f, h, h,
                                             h, h))
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                            text=True, check=False).stdout.splitlines()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": torch.cuda.get_device_name(), "driver": driver[0] if driver else "",
                       "triton": triton.__version__, "torch": torch.__version__,
                       "protocol": f"host time of a call: {options.repeats} repeats of {options.launches} calls after "
                                   f"{3 * options.launches} to warm up, the device synchronised between repeats outside "
                                   "of the time; medians, and the 10th and 90th percentiles, of the repeats' means",
                       "rows": rows}, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
