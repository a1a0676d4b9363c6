"""Integer arithmetic of no known meaning, drawn from the seed 2: written by
`python -m lathe_triton integers 2`."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor

BLOCK, PROGRAMS = 256, 96


@triton.jit
def integers_2_kernel(x, y, out, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    at = start + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    v0 = tl.load(x + at)
    v1 = tl.load(y + at)
    v2 = v1 - 193
    v3 = v2 & v0
    v4 = v1 & 165
    v5 = v0 - v0
    v6 = v0 ^ 109
    v7 = tl.where(v3 >= v6, v4, v4)
    v8 = v0 & v3
    v9 = v7 + v6
    v10 = v8 ^ tl.max(v6, axis=0)
    v11 = v9 ^ (v9 >> 15)
    v11 = v11 * 1877645905
    v11 = v11 ^ ((v11 >> 18) & 16383)
    v12 = v9 + 79
    v13 = tl.where(v6 > v12, v8, v10)
    v14 = v13 ^ tl.sum(v10, axis=0)
    v15 = v13
    for i in tl.static_range(4):
        v15 = (v15 ^ (v15 << (i + 1))) + 235326923
    v16 = tl.where(v15 == v12, v14, v13)
    v17 = v16 ^ tl.sum(v14, axis=0)
    v18 = v17
    for i in tl.static_range(4):
        v18 = (v18 ^ (v18 << (i + 1))) + 359148587
    v19 = v14 ^ tl.sum(v6, axis=0)
    v20 = v16 + v17
    v21 = v15 ^ 383953554
    v22 = v21 << 12
    v23 = v20 ^ 1025097930
    v24 = v13 ^ (v13 >> 15)
    v24 = v24 * 1795308301
    v24 = v24 ^ ((v24 >> 18) & 16383)
    v25 = (v23 & 0x7FFFFFFF) % 3797
    v26 = tl.where(v23 < v24, v23, v21)
    v27 = v23 & 76407322
    v28 = v27 & v24
    v29 = (v19 & 0x7FFFFFFF) % 1414
    v30 = v28 ^ tl.sum(v29, axis=0)
    v31 = (v26 & 0x7FFFFFFF) // 5400
    v32 = tl.where(v31 != v30, v31, v14)
    v33 = v32 ^ (v32 >> 8)
    v33 = v33 * 1109178233
    v33 = v33 ^ ((v33 >> 11) & 2097151)
    v34 = tl.where(v28 >= v32, v24, v31)
    v35 = v32 ^ (v32 >> 10)
    v35 = v35 * 2137031935
    v35 = v35 ^ ((v35 >> 13) & 524287)
    v36 = v29 & 155440263
    v37 = v34
    for i in tl.static_range(2):
        v37 = (v37 ^ (v37 << (i + 1))) + 639052671
    v38 = (v29 & 0x7FFFFFFF) // 2959
    v39 = v36 << 16
    v40 = v35 ^ tl.max(v37, axis=0)
    v41 = tl.where(v36 < v38, v27, v39)
    v42 = v36
    for i in tl.static_range(4):
        v42 = (v42 ^ (v42 << (i + 1))) + 59
    v43 = v40 | 98
    v44 = v42 & 973575906
    v45 = (v40 & 0x7FFFFFFF) % 1550
    v46 = v43 | v45
    v47 = tl.load(x + (v43 & 0x7FFFFFFF) % 24576)
    v48 = (v39 & 0x7FFFFFFF) // 1648
    v49 = v42
    for i in tl.static_range(2):
        v49 = (v49 ^ (v49 << (i + 1))) + 71
    v50 = v47
    for i in tl.static_range(4):
        v50 = (v50 ^ (v50 << (i + 1))) + 9109947
    v51 = tl.load(x + (v48 & 0x7FFFFFFF) % 24576)
    v52 = (v49 & 0x7FFFFFFF) % 3361
    v53 = (v51 & 0x7FFFFFFF) % 7956
    v54 = v48 << 16
    v55 = v46 ^ tl.max(v52, axis=0)
    v56 = tl.where(v55 != v55, v50, v55)
    v57 = tl.maximum(v55, v53)
    v58 = v57 ^ 1065469435
    v59 = tl.minimum(v54, v58)
    v60 = tl.load(x + (v56 & 0x7FFFFFFF) % 24576)
    v61 = v59 & v57
    v62 = v58 - 726297859
    v63 = (v60 & 0x7FFFFFFF) // 2188
    v64 = v59 ^ (v59 >> 9)
    v64 = v64 * 1527091569
    v64 = v64 ^ ((v64 >> 12) & 1048575)
    v65 = v64 << 27
    v66 = (v64 & 0x7FFFFFFF) // 5117
    v67 = v64 + 131
    v68 = tl.maximum(v66, v64)
    v69 = v62 | 23
    v70 = tl.where(v68 < v67, v68, v68)
    v71 = tl.where(v70 == v64, v69, v69)
    v72 = v70 * v70
    v73 = tl.where(v72 != v70, v71, v64)
    v74 = (v55 & 0x7FFFFFFF) // 3540
    v75 = tl.load(x + (v73 & 0x7FFFFFFF) % 24576)
    v76 = (v67 & 0x7FFFFFFF) % 7685
    v77 = v71 - v69
    v78 = tl.where(v76 != v71, v76, v71)
    v79 = v76 ^ (v76 >> 16)
    v79 = v79 * 1768493829
    v79 = v79 ^ ((v79 >> 19) & 8191)
    v80 = tl.minimum(v78, v71)
    v81 = v75 ^ (v75 >> 16)
    v81 = v81 * 1612775349
    v81 = v81 ^ ((v81 >> 19) & 8191)
    v82 = v73 | 1041019030
    v83 = tl.maximum(v79, v78)
    v84 = v82 - v81
    v85 = v75 ^ tl.max(v83, axis=0)
    v86 = v83 - v77
    v87 = v85 ^ tl.sum(v85, axis=0)
    v88 = v87 << 6
    v89 = v88 ^ (v88 >> 16)
    v89 = v89 * 1886357501
    v89 = v89 ^ ((v89 >> 19) & 8191)
    v90 = tl.where(v84 > v87, v86, v88)
    v91 = v89 << 10
    v92 = tl.minimum(v87, v91)
    v93 = v92 >> 16
    v94 = tl.where(v79 == v87, v92, v93)
    v95 = v93 * 49
    v96 = v90
    for i in tl.static_range(2):
        v96 = (v96 ^ (v96 << (i + 1))) + 1009420525
    v97 = tl.maximum(v92, v93)
    v98 = v97
    for i in tl.static_range(2):
        v98 = (v98 ^ (v98 << (i + 1))) + 476313911
    v99 = (v98 & 0x7FFFFFFF) % 8571
    v100 = v98 | 1027984996
    v101 = v99 & v100
    v102 = v99 << 28
    v103 = v99 + v99
    v104 = v100 ^ tl.max(v100, axis=0)
    v105 = v97 ^ tl.max(v86, axis=0)
    v106 = v105 ^ (v105 >> 13)
    v106 = v106 * 828920169
    v106 = v106 ^ ((v106 >> 16) & 65535)
    v107 = v104 & v98
    v108 = v86 ^ v107
    v109 = tl.load(x + (v106 & 0x7FFFFFFF) % 24576)
    result = v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109
    tl.store(out + at, result)


@np.errstate(over="ignore")
def oracle(x, y):
    x, y = x.astype(np.int32), y.astype(np.int32)
    v0, v1 = x.reshape(PROGRAMS, BLOCK), y.reshape(PROGRAMS, BLOCK)
    v2 = v1 - 193
    v3 = v2 & v0
    v4 = v1 & 165
    v5 = v0 - v0
    v6 = v0 ^ 109
    v7 = np.where(v3 >= v6, v4, v4)
    v8 = v0 & v3
    v9 = v7 + v6
    v10 = v8 ^ v6.max(axis=1, keepdims=True)
    v11 = v9 ^ (v9 >> 15)
    v11 = v11 * 1877645905
    v11 = v11 ^ ((v11 >> 18) & 16383)
    v12 = v9 + 79
    v13 = np.where(v6 > v12, v8, v10)
    v14 = v13 ^ v10.sum(axis=1, keepdims=True, dtype=np.int32)
    v15 = v13
    for i in range(4):
        v15 = (v15 ^ (v15 << (i + 1))) + 235326923
    v16 = np.where(v15 == v12, v14, v13)
    v17 = v16 ^ v14.sum(axis=1, keepdims=True, dtype=np.int32)
    v18 = v17
    for i in range(4):
        v18 = (v18 ^ (v18 << (i + 1))) + 359148587
    v19 = v14 ^ v6.sum(axis=1, keepdims=True, dtype=np.int32)
    v20 = v16 + v17
    v21 = v15 ^ 383953554
    v22 = v21 << 12
    v23 = v20 ^ 1025097930
    v24 = v13 ^ (v13 >> 15)
    v24 = v24 * 1795308301
    v24 = v24 ^ ((v24 >> 18) & 16383)
    v25 = (v23 & 0x7FFFFFFF) % 3797
    v26 = np.where(v23 < v24, v23, v21)
    v27 = v23 & 76407322
    v28 = v27 & v24
    v29 = (v19 & 0x7FFFFFFF) % 1414
    v30 = v28 ^ v29.sum(axis=1, keepdims=True, dtype=np.int32)
    v31 = (v26 & 0x7FFFFFFF) // 5400
    v32 = np.where(v31 != v30, v31, v14)
    v33 = v32 ^ (v32 >> 8)
    v33 = v33 * 1109178233
    v33 = v33 ^ ((v33 >> 11) & 2097151)
    v34 = np.where(v28 >= v32, v24, v31)
    v35 = v32 ^ (v32 >> 10)
    v35 = v35 * 2137031935
    v35 = v35 ^ ((v35 >> 13) & 524287)
    v36 = v29 & 155440263
    v37 = v34
    for i in range(2):
        v37 = (v37 ^ (v37 << (i + 1))) + 639052671
    v38 = (v29 & 0x7FFFFFFF) // 2959
    v39 = v36 << 16
    v40 = v35 ^ v37.max(axis=1, keepdims=True)
    v41 = np.where(v36 < v38, v27, v39)
    v42 = v36
    for i in range(4):
        v42 = (v42 ^ (v42 << (i + 1))) + 59
    v43 = v40 | 98
    v44 = v42 & 973575906
    v45 = (v40 & 0x7FFFFFFF) % 1550
    v46 = v43 | v45
    v47 = x[(v43 & 0x7FFFFFFF) % 24576]
    v48 = (v39 & 0x7FFFFFFF) // 1648
    v49 = v42
    for i in range(2):
        v49 = (v49 ^ (v49 << (i + 1))) + 71
    v50 = v47
    for i in range(4):
        v50 = (v50 ^ (v50 << (i + 1))) + 9109947
    v51 = x[(v48 & 0x7FFFFFFF) % 24576]
    v52 = (v49 & 0x7FFFFFFF) % 3361
    v53 = (v51 & 0x7FFFFFFF) % 7956
    v54 = v48 << 16
    v55 = v46 ^ v52.max(axis=1, keepdims=True)
    v56 = np.where(v55 != v55, v50, v55)
    v57 = np.maximum(v55, v53)
    v58 = v57 ^ 1065469435
    v59 = np.minimum(v54, v58)
    v60 = x[(v56 & 0x7FFFFFFF) % 24576]
    v61 = v59 & v57
    v62 = v58 - 726297859
    v63 = (v60 & 0x7FFFFFFF) // 2188
    v64 = v59 ^ (v59 >> 9)
    v64 = v64 * 1527091569
    v64 = v64 ^ ((v64 >> 12) & 1048575)
    v65 = v64 << 27
    v66 = (v64 & 0x7FFFFFFF) // 5117
    v67 = v64 + 131
    v68 = np.maximum(v66, v64)
    v69 = v62 | 23
    v70 = np.where(v68 < v67, v68, v68)
    v71 = np.where(v70 == v64, v69, v69)
    v72 = v70 * v70
    v73 = np.where(v72 != v70, v71, v64)
    v74 = (v55 & 0x7FFFFFFF) // 3540
    v75 = x[(v73 & 0x7FFFFFFF) % 24576]
    v76 = (v67 & 0x7FFFFFFF) % 7685
    v77 = v71 - v69
    v78 = np.where(v76 != v71, v76, v71)
    v79 = v76 ^ (v76 >> 16)
    v79 = v79 * 1768493829
    v79 = v79 ^ ((v79 >> 19) & 8191)
    v80 = np.minimum(v78, v71)
    v81 = v75 ^ (v75 >> 16)
    v81 = v81 * 1612775349
    v81 = v81 ^ ((v81 >> 19) & 8191)
    v82 = v73 | 1041019030
    v83 = np.maximum(v79, v78)
    v84 = v82 - v81
    v85 = v75 ^ v83.max(axis=1, keepdims=True)
    v86 = v83 - v77
    v87 = v85 ^ v85.sum(axis=1, keepdims=True, dtype=np.int32)
    v88 = v87 << 6
    v89 = v88 ^ (v88 >> 16)
    v89 = v89 * 1886357501
    v89 = v89 ^ ((v89 >> 19) & 8191)
    v90 = np.where(v84 > v87, v86, v88)
    v91 = v89 << 10
    v92 = np.minimum(v87, v91)
    v93 = v92 >> 16
    v94 = np.where(v79 == v87, v92, v93)
    v95 = v93 * 49
    v96 = v90
    for i in range(2):
        v96 = (v96 ^ (v96 << (i + 1))) + 1009420525
    v97 = np.maximum(v92, v93)
    v98 = v97
    for i in range(2):
        v98 = (v98 ^ (v98 << (i + 1))) + 476313911
    v99 = (v98 & 0x7FFFFFFF) % 8571
    v100 = v98 | 1027984996
    v101 = v99 & v100
    v102 = v99 << 28
    v103 = v99 + v99
    v104 = v100 ^ v100.max(axis=1, keepdims=True)
    v105 = v97 ^ v86.max(axis=1, keepdims=True)
    v106 = v105 ^ (v105 >> 13)
    v106 = v106 * 828920169
    v106 = v106 ^ ((v106 >> 16) & 65535)
    v107 = v104 & v98
    v108 = v86 ^ v107
    v109 = x[(v106 & 0x7FFFFFFF) % 24576]
    result = v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109
    return {"out": result.reshape(-1)}


def contracts():
    bits = {"integers": [-2147483648, 2147483647]}
    yield Contract(
        name="integers_2", dtype="int32", kernel=integers_2_kernel, oracle=oracle,
        home="suite/semantics/contracts",
        arguments=[Tensor("x", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("y", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("out", "s32", (BLOCK * PROGRAMS,), "output")],
        constants={"BLOCK": BLOCK}, grid=(PROGRAMS,),
        tuning=[Config(num_warps=4), Config(num_warps=2), Config(num_warps=8)],
        tolerance={"absolute": 0.0, "relative": 0.0, "error_factor": 1.0})
