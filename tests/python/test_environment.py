# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The Pythons that tests/python/setup.sh makes are what they are called."""

import importlib.util
import os
import subprocess
import sys

import numpy
import pytest

ENVIRONMENT = os.environ.get("BATCHCAST_TEST_ENVIRONMENT", "")


@pytest.mark.skipif(not ENVIRONMENT, reason="not run by ctest")
def test_each_has_its_numpy_and_its_torch() -> None:
    numpy_major = int(numpy.__version__.split(".")[0])
    assert numpy_major == (1 if ENVIRONMENT == "torch-1.13" else 2)
    if ENVIRONMENT == "numpy":
        assert importlib.util.find_spec("torch") is None
        return
    import torch

    assert torch.__version__.startswith(ENVIRONMENT.split("-")[1] + ".")
    weights = torch.ones(3, requires_grad=True)
    (weights * torch.from_numpy(numpy.arange(3, dtype="f4"))).sum().backward()
    assert weights.grad is not None and weights.grad.tolist() == [0, 1, 2]


def test_the_package_is_the_one_that_was_built_and_takes_no_torch() -> None:
    program = "import sys, batchcast; print(batchcast.__file__, 'torch' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    ).stdout.split()
    built = os.environ["PYTHONPATH"].split(os.pathsep)[0]
    assert said == [os.path.join(built, "batchcast", "__init__.py"), "False"]
