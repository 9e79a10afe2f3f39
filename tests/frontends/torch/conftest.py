"""A torchvision whose compiled extension cannot be loaded still imports once its operators are declared."""

import bench.zoo_torch  # noqa: F401
