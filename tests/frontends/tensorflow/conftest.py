"""TensorFlow on the CPU, without its log, and with its own kernels: oneDNN's round some quantised values otherwise."""

from __future__ import annotations

import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")
