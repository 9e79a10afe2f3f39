"""TensorFlow on the CPU, without its log."""

from __future__ import annotations

import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
