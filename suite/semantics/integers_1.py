"""Integer arithmetic of no known meaning, drawn from the seed 1: written by
`python -m lathe_triton integers 1`."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor

BLOCK, PROGRAMS = 256, 96


@triton.jit
def integers_1_kernel(x, y, out, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    at = start + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    v0 = tl.load(x + at)
    v1 = tl.load(y + at)
    v2 = tl.load(x + (v0 & 0x7FFFFFFF) % 24576)
    v3 = v0 ^ tl.sum(v1, axis=0)
    v4 = v1 >> 9
    v5 = v4 ^ (v4 >> 5)
    v5 = v5 * 1887032313
    v5 = v5 ^ ((v5 >> 8) & 16777215)
    v6 = (v2 & 0x7FFFFFFF) // 3568
    v7 = v6 >> 28
    v8 = tl.load(y + (v6 & 0x7FFFFFFF) % 24576)
    v9 = tl.minimum(v8, v5)
    v10 = (v6 & 0x7FFFFFFF) % 8069
    v11 = tl.where(v0 > v9, v8, v10)
    v12 = v3 ^ (v3 >> 9)
    v12 = v12 * 1932044381
    v12 = v12 ^ ((v12 >> 12) & 1048575)
    v13 = v12 - 220
    v14 = tl.maximum(v12, v13)
    v15 = v7
    for i in tl.static_range(4):
        v15 = (v15 ^ (v15 << (i + 1))) + 981877451
    v16 = v10
    for i in tl.static_range(4):
        v16 = (v16 ^ (v16 << (i + 1))) + 61
    v17 = v16 ^ tl.sum(v16, axis=0)
    v18 = tl.where(v16 == v16, v15, v16)
    v19 = v17 * 931384938
    v20 = v19 >> 18
    v21 = tl.where(v19 >= v18, v19, v2)
    v22 = v14 | v20
    v23 = (v19 & 0x7FFFFFFF) % 6196
    v24 = v20 + v22
    v25 = v12 * v23
    v26 = (v22 & 0x7FFFFFFF) // 1875
    v27 = tl.where(v17 > v26, v26, v25)
    v28 = v23 + 106
    v29 = (v28 & 0x7FFFFFFF) // 9617
    v30 = tl.maximum(v29, v27)
    v31 = (v30 & 0x7FFFFFFF) // 1687
    v32 = v30 ^ tl.max(v22, axis=0)
    v33 = v29 ^ (v29 >> 12)
    v33 = v33 * 1528172873
    v33 = v33 ^ ((v33 >> 15) & 131071)
    v34 = v32 * v33
    v35 = v34
    for i in tl.static_range(2):
        v35 = (v35 ^ (v35 << (i + 1))) + 1055041129
    v36 = v30 * 420121952
    v37 = v34 << 3
    v38 = v23 >> 15
    v39 = tl.minimum(v37, v32)
    v40 = v35 >> 9
    v41 = tl.where(v37 == v39, v39, v40)
    v42 = tl.maximum(v41, v36)
    v43 = v38 << 21
    v44 = v32 << 13
    v45 = v44 | v44
    v46 = tl.where(v37 > v44, v44, v42)
    v47 = v46 ^ tl.sum(v40, axis=0)
    v48 = v47 + v46
    v49 = v47 + 187
    v50 = tl.minimum(v45, v48)
    v51 = tl.maximum(v48, v43)
    v52 = tl.where(v51 >= v45, v50, v49)
    v53 = v52 ^ (v52 >> 7)
    v53 = v53 * 321183963
    v53 = v53 ^ ((v53 >> 10) & 4194303)
    v54 = v47
    for i in tl.static_range(3):
        v54 = (v54 ^ (v54 << (i + 1))) + 114759093
    v55 = v54 - 37
    v56 = tl.maximum(v49, v49)
    v57 = v56 - v54
    v58 = tl.where(v57 != v50, v56, v51)
    v59 = v52 << 18
    v60 = v56 ^ (v56 >> 13)
    v60 = v60 * 1828137075
    v60 = v60 ^ ((v60 >> 16) & 65535)
    v61 = v58 ^ 215
    v62 = v60 ^ v61
    v63 = tl.load(x + (v52 & 0x7FFFFFFF) % 24576)
    v64 = v63 - v62
    v65 = v61 - 1055721286
    v66 = (v63 & 0x7FFFFFFF) % 6574
    v67 = (v63 & 0x7FFFFFFF) // 3829
    v68 = v67 & 537836866
    v69 = (v58 & 0x7FFFFFFF) % 3701
    v70 = v68 << 22
    v71 = v58 | 361798913
    v72 = v57 >> 8
    v73 = v62 << 25
    v74 = v73 - v68
    v75 = tl.load(y + (v73 & 0x7FFFFFFF) % 24576)
    v76 = v68 ^ (v68 >> 7)
    v76 = v76 * 798035713
    v76 = v76 ^ ((v76 >> 10) & 4194303)
    v77 = v72
    for i in tl.static_range(4):
        v77 = (v77 ^ (v77 << (i + 1))) + 119
    v78 = (v70 & 0x7FFFFFFF) // 9933
    v79 = tl.maximum(v78, v77)
    v80 = v68 + v74
    v81 = v78 ^ 683944467
    v82 = v80
    for i in tl.static_range(2):
        v82 = (v82 ^ (v82 << (i + 1))) + 141
    v83 = tl.where(v80 < v82, v81, v82)
    v84 = v71 | v83
    v85 = v77 ^ v80
    v86 = (v85 & 0x7FFFFFFF) // 3951
    v87 = (v75 & 0x7FFFFFFF) // 7095
    v88 = tl.maximum(v87, v86)
    v89 = v85 ^ 246
    v90 = (v87 & 0x7FFFFFFF) // 8752
    v91 = v81 << 22
    v92 = v90 >> 13
    v93 = tl.maximum(v80, v89)
    v94 = v93 - v79
    v95 = v87 - 45
    v96 = v92 * 628931478
    v97 = v89 - v94
    v98 = v95 ^ tl.sum(v94, axis=0)
    v99 = v93 & v95
    v100 = (v99 & 0x7FFFFFFF) % 1774
    v101 = tl.where(v100 >= v95, v97, v87)
    v102 = v101 * v100
    v103 = tl.where(v100 < v98, v97, v101)
    v104 = tl.minimum(v101, v101)
    v105 = v101 ^ (v101 >> 16)
    v105 = v105 * 728781093
    v105 = v105 ^ ((v105 >> 19) & 8191)
    v106 = v103 ^ tl.max(v101, axis=0)
    v107 = tl.where(v105 > v103, v85, v102)
    v108 = v107 ^ 896137932
    v109 = (v97 & 0x7FFFFFFF) % 5005
    result = v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109
    tl.store(out + at, result)


@np.errstate(over="ignore")
def oracle(x, y):
    x, y = x.astype(np.int32), y.astype(np.int32)
    v0, v1 = x.reshape(PROGRAMS, BLOCK), y.reshape(PROGRAMS, BLOCK)
    v2 = x[(v0 & 0x7FFFFFFF) % 24576]
    v3 = v0 ^ v1.sum(axis=1, keepdims=True, dtype=np.int32)
    v4 = v1 >> 9
    v5 = v4 ^ (v4 >> 5)
    v5 = v5 * 1887032313
    v5 = v5 ^ ((v5 >> 8) & 16777215)
    v6 = (v2 & 0x7FFFFFFF) // 3568
    v7 = v6 >> 28
    v8 = y[(v6 & 0x7FFFFFFF) % 24576]
    v9 = np.minimum(v8, v5)
    v10 = (v6 & 0x7FFFFFFF) % 8069
    v11 = np.where(v0 > v9, v8, v10)
    v12 = v3 ^ (v3 >> 9)
    v12 = v12 * 1932044381
    v12 = v12 ^ ((v12 >> 12) & 1048575)
    v13 = v12 - 220
    v14 = np.maximum(v12, v13)
    v15 = v7
    for i in range(4):
        v15 = (v15 ^ (v15 << (i + 1))) + 981877451
    v16 = v10
    for i in range(4):
        v16 = (v16 ^ (v16 << (i + 1))) + 61
    v17 = v16 ^ v16.sum(axis=1, keepdims=True, dtype=np.int32)
    v18 = np.where(v16 == v16, v15, v16)
    v19 = v17 * 931384938
    v20 = v19 >> 18
    v21 = np.where(v19 >= v18, v19, v2)
    v22 = v14 | v20
    v23 = (v19 & 0x7FFFFFFF) % 6196
    v24 = v20 + v22
    v25 = v12 * v23
    v26 = (v22 & 0x7FFFFFFF) // 1875
    v27 = np.where(v17 > v26, v26, v25)
    v28 = v23 + 106
    v29 = (v28 & 0x7FFFFFFF) // 9617
    v30 = np.maximum(v29, v27)
    v31 = (v30 & 0x7FFFFFFF) // 1687
    v32 = v30 ^ v22.max(axis=1, keepdims=True)
    v33 = v29 ^ (v29 >> 12)
    v33 = v33 * 1528172873
    v33 = v33 ^ ((v33 >> 15) & 131071)
    v34 = v32 * v33
    v35 = v34
    for i in range(2):
        v35 = (v35 ^ (v35 << (i + 1))) + 1055041129
    v36 = v30 * 420121952
    v37 = v34 << 3
    v38 = v23 >> 15
    v39 = np.minimum(v37, v32)
    v40 = v35 >> 9
    v41 = np.where(v37 == v39, v39, v40)
    v42 = np.maximum(v41, v36)
    v43 = v38 << 21
    v44 = v32 << 13
    v45 = v44 | v44
    v46 = np.where(v37 > v44, v44, v42)
    v47 = v46 ^ v40.sum(axis=1, keepdims=True, dtype=np.int32)
    v48 = v47 + v46
    v49 = v47 + 187
    v50 = np.minimum(v45, v48)
    v51 = np.maximum(v48, v43)
    v52 = np.where(v51 >= v45, v50, v49)
    v53 = v52 ^ (v52 >> 7)
    v53 = v53 * 321183963
    v53 = v53 ^ ((v53 >> 10) & 4194303)
    v54 = v47
    for i in range(3):
        v54 = (v54 ^ (v54 << (i + 1))) + 114759093
    v55 = v54 - 37
    v56 = np.maximum(v49, v49)
    v57 = v56 - v54
    v58 = np.where(v57 != v50, v56, v51)
    v59 = v52 << 18
    v60 = v56 ^ (v56 >> 13)
    v60 = v60 * 1828137075
    v60 = v60 ^ ((v60 >> 16) & 65535)
    v61 = v58 ^ 215
    v62 = v60 ^ v61
    v63 = x[(v52 & 0x7FFFFFFF) % 24576]
    v64 = v63 - v62
    v65 = v61 - 1055721286
    v66 = (v63 & 0x7FFFFFFF) % 6574
    v67 = (v63 & 0x7FFFFFFF) // 3829
    v68 = v67 & 537836866
    v69 = (v58 & 0x7FFFFFFF) % 3701
    v70 = v68 << 22
    v71 = v58 | 361798913
    v72 = v57 >> 8
    v73 = v62 << 25
    v74 = v73 - v68
    v75 = y[(v73 & 0x7FFFFFFF) % 24576]
    v76 = v68 ^ (v68 >> 7)
    v76 = v76 * 798035713
    v76 = v76 ^ ((v76 >> 10) & 4194303)
    v77 = v72
    for i in range(4):
        v77 = (v77 ^ (v77 << (i + 1))) + 119
    v78 = (v70 & 0x7FFFFFFF) // 9933
    v79 = np.maximum(v78, v77)
    v80 = v68 + v74
    v81 = v78 ^ 683944467
    v82 = v80
    for i in range(2):
        v82 = (v82 ^ (v82 << (i + 1))) + 141
    v83 = np.where(v80 < v82, v81, v82)
    v84 = v71 | v83
    v85 = v77 ^ v80
    v86 = (v85 & 0x7FFFFFFF) // 3951
    v87 = (v75 & 0x7FFFFFFF) // 7095
    v88 = np.maximum(v87, v86)
    v89 = v85 ^ 246
    v90 = (v87 & 0x7FFFFFFF) // 8752
    v91 = v81 << 22
    v92 = v90 >> 13
    v93 = np.maximum(v80, v89)
    v94 = v93 - v79
    v95 = v87 - 45
    v96 = v92 * 628931478
    v97 = v89 - v94
    v98 = v95 ^ v94.sum(axis=1, keepdims=True, dtype=np.int32)
    v99 = v93 & v95
    v100 = (v99 & 0x7FFFFFFF) % 1774
    v101 = np.where(v100 >= v95, v97, v87)
    v102 = v101 * v100
    v103 = np.where(v100 < v98, v97, v101)
    v104 = np.minimum(v101, v101)
    v105 = v101 ^ (v101 >> 16)
    v105 = v105 * 728781093
    v105 = v105 ^ ((v105 >> 19) & 8191)
    v106 = v103 ^ v101.max(axis=1, keepdims=True)
    v107 = np.where(v105 > v103, v85, v102)
    v108 = v107 ^ 896137932
    v109 = (v97 & 0x7FFFFFFF) % 5005
    result = v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109
    return {"out": result.reshape(-1)}


def contracts():
    bits = {"integers": [-2147483648, 2147483647]}
    yield Contract(
        name="integers_1", dtype="int32", kernel=integers_1_kernel, oracle=oracle,
        home="suite/semantics/contracts",
        arguments=[Tensor("x", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("y", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("out", "s32", (BLOCK * PROGRAMS,), "output")],
        constants={"BLOCK": BLOCK}, grid=(PROGRAMS,),
        tuning=[Config(num_warps=4), Config(num_warps=2), Config(num_warps=8)],
        tolerance={"absolute": 0.0, "relative": 0.0, "error_factor": 1.0})
