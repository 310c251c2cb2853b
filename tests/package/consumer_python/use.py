"""Imports the module that was built against the installation, and uses it on the simulated Hopper."""
import sys

import numpy as np

import own_kernels

x = np.arange(100, dtype=np.float32)
y = np.ones(100, dtype=np.float32)
own_kernels.saxpy(100, 2.5, 32, x, y)
if not np.array_equal(y, 2.5 * x + 1):
    sys.exit(f"wrong: {y}")
try:
    own_kernels.saxpy(101, 2.5, 32, x, y)
except ValueError as error:
    if "use.py:" not in str(error):
        sys.exit(f"the error does not name this line: {error}")
else:
    sys.exit("a view that is longer than its memory is no error")
print("saxpy of 100 elements: 0 wrong, from", own_kernels.__file__)
