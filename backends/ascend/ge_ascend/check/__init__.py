"""The checker of AIR files: what CANN's loader lets through and its compiler then fails on, or gets wrong."""

from ge_ascend.check.findings import Findings
from ge_ascend.check.run import check_air, check_file

__all__ = ["Findings", "check_air", "check_file"]
