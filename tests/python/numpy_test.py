"""The Python modules on the simulated device, with NumPy's arrays."""
import os
import tempfile
import threading
import unittest

os.environ.setdefault("TESSERA_CACHE_DIR", tempfile.mkdtemp(prefix="tessera-python-"))
os.environ.setdefault("TESSERA_QUIET", "1")

import numpy as np

import own_kernels
import tessera


class OwnKernel(unittest.TestCase):
    def setUp(self):
        self.x = np.arange(100, dtype=np.float32)
        self.y = np.ones(100, dtype=np.float32)

    def test_computes_in_place(self):
        own_kernels.saxpy(100, 2.5, 32, self.x, self.y)
        np.testing.assert_array_equal(self.y, 2.5 * self.x + 1)
        own_kernels.saxpy(50, 1, 32, self.x, self.y[50:])  # an offset into the memory
        np.testing.assert_array_equal(self.y[50:], 2.5 * self.x[50:] + 1 + self.x[:50])

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, r"numpy_test.py:\d+: error: .*the argument for y_ptr has 400 bytes"):
            own_kernels.saxpy(101, 2.0, 32, self.x, self.y)
        with self.assertRaisesRegex(ValueError, "make it contiguous"):
            own_kernels.saxpy(50, 2.0, 32, self.x[::2], self.y)
        with self.assertRaisesRegex(ValueError, "type code 2, 64 bits"):
            own_kernels.saxpy(100, 2.0, 32, self.x.astype(np.float64), self.y)
        with self.assertRaisesRegex(ValueError, "holds int32, but the parameter is of float32"):
            own_kernels.saxpy(100, 2.0, 32, self.x.astype(np.int32), self.y)
        with self.assertRaisesRegex(ValueError, "4294967296 does not fit"):
            own_kernels.saxpy(2**32, 2.0, 32, self.x, self.y)
        with self.assertRaisesRegex(TypeError, "takes 5 arguments, not 1"):
            own_kernels.saxpy(1)
        with self.assertRaisesRegex(TypeError, "a tensor with __dlpack__ is wanted .* but this is a list"):
            own_kernels.saxpy(100, 2.0, 32, [1.0], self.y)
        np.testing.assert_array_equal(self.y, np.ones(100))

    def test_threads(self):
        results = [np.zeros(100, dtype=np.float32) for _ in range(4)]

        def work(y):
            for _ in range(50):
                own_kernels.saxpy(100, 1.0, 32, self.x, y)

        threads = [threading.Thread(target=work, args=(y,)) for y in results]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for y in results:
            np.testing.assert_array_equal(y, 50 * self.x)


class Matmul(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(1)
        self.a = rng.integers(-4, 5, (70, 48)).astype(np.float16)
        self.b = rng.integers(-4, 5, (40, 48)).astype(np.float16)
        self.exact = self.a.astype(np.float32) @ self.b.astype(np.float32).T

    def test_makes_the_result(self):
        c = tessera.matmul(self.a, self.b)
        self.assertEqual(c.dtype, np.float16)
        np.testing.assert_array_equal(c, self.exact.astype(np.float16))
        self.assertIn("Matmul", tessera.last_matmul_report())

    def test_strides_and_epilogue(self):
        c = np.ones((70, 40), dtype=np.float32)
        b = np.asfortranarray(self.b)
        out = tessera.matmul(self.a, b, c, alpha=0.5, beta=2.0, activation="relu")
        self.assertIs(out, c)
        np.testing.assert_array_equal(c, np.maximum(0.5 * self.exact + 2, 0))
        bias = np.arange(40, dtype=np.float32)
        tessera.matmul(self.a, self.b, c, bias=bias)
        np.testing.assert_array_equal(c, self.exact + bias)

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "matmul of float16 and float32 into"):
            tessera.matmul(self.a, self.b.astype(np.float32), np.empty((70, 40), np.float16))
        with self.assertRaisesRegex(ValueError, "is no matrix"):
            tessera.matmul(self.a[0], self.b)
        with self.assertRaisesRegex(ValueError, "numpy_test.py"):
            tessera.matmul(self.a, self.b[:, :47])
        with self.assertRaisesRegex(ValueError, "activation 'tanh': allowed are"):
            tessera.matmul(self.a, self.b, activation="tanh")
        with self.assertRaisesRegex(ValueError, "give c"):
            tessera.matmul(self.a, self.b, beta=1.0)


if __name__ == "__main__":
    unittest.main()
