"""The bridge from Triton to Lathe: what a kernel's source says about its contracts.

A source file of the suite imports `Contract`, `Config` and `Tensor` from here; nothing of this
module needs Triton, a GPU or PyTorch.
"""

from .contract import Config, Contract, Tensor, element, elementwise, elementwise_inout, rounding

__all__ = ["Config", "Contract", "Tensor", "element", "elementwise", "elementwise_inout",
           "rounding"]
