#!/usr/bin/env python3
"""Draws the JSON that `hopper_matmul --bench --json FILE` writes as an SVG bar chart.

    tools/plot_results.py benchmarks/results/*.json -o benchmarks/results/matmul.svg

One group of bars for each file (a size and an element type), one bar for each name; the number over a bar is TFLOPS, and
for everything but cuBLAS also its share of the faster of cuBLAS's choices in the same run. Files without measurements are
left out.
"""
import argparse
import html
import json
import math
import sys

WIDTH_OF_BAR, GAP, HEIGHT, TOP, LEFT, BOTTOM = 62, 40, 260, 64, 64, 62
LIBRARY = {"cublas": "#9aa5b1", "cublaslt": "#6b7785"}
COLOURS = ["#1f77b4", "#2a9d8f", "#e9a23b", "#c8553d", "#7b5ea7", "#b07aa1", "#59a14f", "#8c564b"]


def read(paths):
    groups = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        rows = result.get("bench") or []
        if not rows:
            print(f"{path}: no measurements in it", file=sys.stderr)
            continue
        m, n, k = result["size"]
        title = f"{m}³" if m == n == k else f"{m}×{n}×{k}"
        groups.append({"title": title, "note": result["dtype"], "device": result["device"], "rows": rows, "work": m * n * k})
    groups.sort(key=lambda group: (group["note"], group["work"], group["title"]))
    return groups


def scale_of(largest):
    """A round upper end of the axis and the distance of its lines."""
    decade = 1
    while True:
        for step in (decade, 2 * decade, 2.5 * decade, 5 * decade):
            lines = math.ceil(largest / step)
            if lines <= 5:
                return lines * step, step
        decade *= 10


def text(x, y, content, size=12, anchor="middle", colour="#24292f", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{html.escape(content)}</text>')


def draw(groups):
    names = []
    for group in groups:
        names += [row["name"] for row in group["rows"] if row["name"] not in names]
    own = [name for name in names if name not in LIBRARY]
    colours = LIBRARY | {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(own)}
    top, step = scale_of(max(row["tflops"] for group in groups for row in group["rows"]) * 1.08)
    width = LEFT + GAP + sum(len(group["rows"]) * WIDTH_OF_BAR + GAP for group in groups)
    width = max(width, 420)
    base = TOP + HEIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{base + BOTTOM}" '
           f'viewBox="0 0 {width} {base + BOTTOM}" font-family="sans-serif">',
           f'<rect width="{width}" height="{base + BOTTOM}" fill="white"/>']
    devices = sorted({group["device"] for group in groups})
    out.append(text(LEFT, 22, "c = a·bᵀ, TFLOPS on " + ", ".join(devices), 14, "start", weight="bold"))
    x = LEFT
    for name in names:
        out.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{colours[name]}"/>')
        out.append(text(x + 17, 44, name, 12, "start"))
        x += 34 + 8 * len(name)
    value = 0
    while value <= top + step / 2:
        y = base - HEIGHT * value / top
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{width - 10}" y2="{y:.1f}" stroke="#d8dee4"/>')
        out.append(text(LEFT - 8, y + 4, f"{value:g}", 11, "end", "#57606a"))
        value += step
    x = LEFT + GAP / 2
    for group in groups:
        begin = x
        for row in group["rows"]:
            height = HEIGHT * row["tflops"] / top
            centre = x + WIDTH_OF_BAR / 2
            out.append(f'<rect x="{x + 5:.1f}" y="{base - height:.1f}" width="{WIDTH_OF_BAR - 10}" height="{height:.1f}" '
                       f'fill="{colours[row["name"]]}"/>')
            label = f'{row["tflops"]:.0f}'
            if row["name"] not in LIBRARY and row.get("share"):
                label += f' ({100 * row["share"]:.0f} %)'
            out.append(text(centre, base - height - 5, label, 11))
            x += WIDTH_OF_BAR
        centre = (begin + x) / 2
        out.append(text(centre, base + 20, group["title"], 12))
        out.append(text(centre, base + 37, group["note"], 11, colour="#57606a"))
        x += GAP
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="result files")
    parser.add_argument("-o", "--output", required=True, help="the SVG to write")
    arguments = parser.parse_args()
    groups = read(arguments.files)
    if not groups:
        sys.exit("nothing to draw")
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write(draw(groups))


if __name__ == "__main__":
    main()
