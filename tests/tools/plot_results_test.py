"""The drawing tool: well-formed SVG, one bar a measurement with heights in proportion, files without measurements left out."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

TOOL = sys.argv.pop(1)
SVG = "{http://www.w3.org/2000/svg}"


def result(size, rows):
    return {"size": size, "dtype": "f16", "device": "a <card> & co", "bench": rows}


def row(name, tflops, share):
    return {"name": name, "latency_ms": 1.0, "tflops": tflops, "share": share}


class PlotResults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = os.path.join(self.folder.name, "out.svg")

    def write(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        return path

    def draw(self, *paths):
        return subprocess.run([sys.executable, TOOL, *paths, "-o", self.output], capture_output=True, text=True, check=False)

    def test_draws_a_bar_for_each_measurement(self):
        small = self.write("b.json", result([2048, 2048, 2048], [row("cublas", 600, 1.0), row("v0", 300, 0.5)]))
        large = self.write("a.json", result([4096, 4104, 4096], [row("cublas", 700, 1.0), row("v0", 350, 0.5)]))
        self.assertEqual(self.draw(large, small).returncode, 0)
        root = ElementTree.parse(self.output).getroot()
        bars = [bar for bar in root.iter(SVG + "rect") if bar.get("width") == "52"]
        heights = [float(bar.get("height")) for bar in bars]
        self.assertEqual(len(heights), 4)
        self.assertAlmostEqual(heights[0] / heights[1], 2, places=2)
        self.assertAlmostEqual(heights[2] / heights[0], 7 / 6, places=2)
        texts = [text.text for text in root.iter(SVG + "text")]
        self.assertIn("350 (50 %)", texts)
        self.assertLess(texts.index("2048³"), texts.index("4096×4104×4096"))
        self.assertIn("c = a·bᵀ, TFLOPS on a <card> & co", texts)

    def test_leaves_out_files_without_measurements(self):
        empty = self.write("empty.json", result([64, 64, 64], []))
        run = self.draw(empty)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("no measurements in it", run.stderr)
        self.assertFalse(os.path.exists(self.output))


if __name__ == "__main__":
    unittest.main()
