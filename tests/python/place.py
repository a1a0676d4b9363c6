"""Where the bridge and the tests' own modules are."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDED = HERE / "h200/captured"
sys.path[:0] = [str(ROOT / "python"), str(HERE / "fake")]
