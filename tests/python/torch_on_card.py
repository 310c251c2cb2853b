#!/usr/bin/env python3
"""tessera.matmul and a kernel of one's own on PyTorch's tensors, on a card. Not part of the tests that need none.

The modules are built for one version of Python. Either build them for the card's (from the tree's folder; its headers
are enough):
  cmake --preset portable -DTESSERA_PYTHON=ON -DPython3_EXECUTABLE=/path/to/python3.12
  cmake --build --preset portable --target tessera_python own_kernels
  PYTHONPATH=build/portable/python:build/portable/tests/python python3 tests/python/torch_on_card.py
or, where there is a compiler beside PyTorch, which brings pybind11's headers, from the portable library alone:
  python3 tests/python/torch_on_card.py --build build/portable/src/libtessera.a
"""
import argparse
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(library):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-modules-"))
    includes = [ROOT / "include", sysconfig.get_paths()["include"], pathlib.Path(torch.__file__).parent / "include"]
    for name, source in (("tessera", "python/module.cpp"), ("own_kernels", "tests/python/own_kernels.cpp")):
        target = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
        subprocess.run(
            ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", *(f"-I{i}" for i in includes),
             str(ROOT / source), str(pathlib.Path(library).resolve()), "-ldl", "-lpthread", "-o", str(target)],
            check=True)
    sys.path.insert(0, str(folder))


def check_matmul(tessera, dtype, m, n, k, transposed):
    a = torch.randn(m, k, device="cuda", dtype=torch.float32).to(dtype)
    b = torch.randn(n, k, device="cuda", dtype=torch.float32).to(dtype)
    if transposed:
        b = b.t().contiguous().t()  # stored column by column
    c = tessera.matmul(a, b) if dtype != torch.float8_e4m3fn else tessera.matmul(
        a, b, torch.empty(m, n, device="cuda", dtype=torch.float16))
    exact = a.double() @ b.double().t()
    size = a.double().abs() @ b.double().abs().t()
    unit = 2.0**-8 if c.dtype == torch.bfloat16 else 2.0**-11
    # The tensor cores align the products of an instruction before they add them: 8-bit operands to about 13 bits.
    lost = 2.0**-12 if dtype == torch.float8_e4m3fn else k * 2.0**-23
    bound = exact.abs() * unit * 1.01 + size * lost + 1e-6
    wrong = int(((c.double() - exact).abs() > bound).sum())
    print(f"matmul {dtype} {m}x{n}x{k}{' b by columns' if transposed else ''}: {wrong} wrong")
    return wrong


def check_current_stream(tessera):
    """The product is in the order of PyTorch's current stream: after a kernel that takes long, before the next one."""
    stream = torch.cuda.Stream()
    a = torch.zeros(512, 512, device="cuda", dtype=torch.float16)
    b = torch.eye(512, device="cuda", dtype=torch.float16)
    tessera.matmul(a, b)  # compiled and tuned
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        a.fill_(3)
        c = tessera.matmul(a, b)
        d = c + 1
    stream.synchronize()
    wrong = int((d != 4).sum())
    print(f"order on a stream of PyTorch: {wrong} wrong")
    return wrong


def check_graph(tessera):
    a = torch.randn(256, 256, device="cuda", dtype=torch.float16)
    b = torch.randn(256, 256, device="cuda", dtype=torch.float16)
    c = torch.empty(256, 256, device="cuda", dtype=torch.float16)
    fresh = torch.randn(320, 328, device="cuda", dtype=torch.float16)
    tessera.matmul(a, b, c)
    graph = torch.cuda.CUDAGraph()
    refused = ""
    with torch.cuda.graph(graph):
        tessera.matmul(a, b, c)
        try:
            tessera.matmul(fresh, fresh, torch.empty(320, 320, device="cuda", dtype=torch.float16))
        except ValueError as error:
            refused = str(error)
    a.copy_(torch.randn_like(a))
    c.zero_()
    graph.replay()
    torch.cuda.synchronize()
    again = tessera.matmul(a, b)
    wrong = int((again != c).sum()) + (0 if "before the capture" in refused else 1)
    print(f"a graph of PyTorch: {wrong} wrong; a new product inside: {refused.splitlines()[0] if refused else 'allowed'}")
    return wrong


def check_own(own_kernels):
    x = torch.arange(100000, device="cuda", dtype=torch.float32)
    y = torch.ones_like(x)
    own_kernels.saxpy(x.numel(), 2.0, 1024, x, y)
    wrong = int((y != 2 * x + 1).sum())
    for bad, text in ((x[::2], "make it contiguous"), (x.double(), "64 bits"), (x.cpu(), "host memory")):
        try:
            own_kernels.saxpy(10, 2.0, 1024, bad, y)
            wrong += 1
        except ValueError as error:
            wrong += 0 if text in str(error) else 1
    print(f"a kernel of one's own: {wrong} wrong")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", metavar="LIBTESSERA", help="compile the modules here, with this libtessera.a")
    arguments = parser.parse_args()
    if arguments.build:
        build(arguments.build)
    import own_kernels
    import tessera

    wrong = 0
    for dtype in (torch.float16, torch.bfloat16, torch.float8_e4m3fn):
        for m, n, k in ((512, 512, 512), (16, 4096, 1024), (300, 264, 200)):
            if dtype == torch.float8_e4m3fn and k % 16 != 0:
                continue
            for transposed in (False, True):
                wrong += check_matmul(tessera, dtype, m, n, k, transposed)
    wrong += check_own(own_kernels) + check_current_stream(tessera) + check_graph(tessera)
    print("all is well" if wrong == 0 else f"{wrong} wrong")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
