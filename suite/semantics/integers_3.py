"""Integer arithmetic of no known meaning, drawn from the seed 3: written by
`python -m lathe_triton integers 3`."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor

BLOCK, PROGRAMS = 256, 96


@triton.jit
def integers_3_kernel(x, y, out, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    at = start + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    v0 = tl.load(x + at)
    v1 = tl.load(y + at)
    v2 = v0 * v0
    v3 = v0 ^ 988500021
    v4 = v3 ^ tl.max(v3, axis=0)
    v5 = v1
    for i in tl.static_range(4):
        v5 = (v5 ^ (v5 << (i + 1))) + 34701347
    v6 = v0 | v1
    v7 = v0 - v3
    v8 = tl.where(v0 >= v0, v0, v7)
    v9 = v8 ^ (v8 >> 16)
    v9 = v9 * 1940486153
    v9 = v9 ^ ((v9 >> 19) & 8191)
    v10 = v7 << 7
    v11 = tl.load(x + (v7 & 0x7FFFFFFF) % 24576)
    v12 = v9 ^ (v9 >> 7)
    v12 = v12 * 259445959
    v12 = v12 ^ ((v12 >> 10) & 4194303)
    v13 = v10 ^ (v10 >> 15)
    v13 = v13 * 513347817
    v13 = v13 ^ ((v13 >> 18) & 16383)
    v14 = tl.load(y + (v13 & 0x7FFFFFFF) % 24576)
    v15 = v14 & 30
    v16 = (v14 & 0x7FFFFFFF) // 8866
    v17 = tl.maximum(v10, v16)
    v18 = v17 + v14
    v19 = (v18 & 0x7FFFFFFF) % 4488
    v20 = tl.load(x + (v13 & 0x7FFFFFFF) % 24576)
    v21 = v18 << 19
    v22 = v21 * 288392139
    v23 = v22 * 199
    v24 = v16 + v18
    v25 = v24 + 124
    v26 = tl.where(v18 == v25, v23, v24)
    v27 = v26 ^ 418368512
    v28 = tl.where(v26 > v27, v26, v27)
    v29 = tl.where(v28 < v23, v22, v25)
    v30 = v26 ^ tl.max(v28, axis=0)
    v31 = v26 & v30
    v32 = v31 ^ v28
    v33 = v31
    for i in tl.static_range(4):
        v33 = (v33 ^ (v33 << (i + 1))) + 109
    v34 = v32 << 18
    v35 = v30 ^ (v30 >> 11)
    v35 = v35 * 153719025
    v35 = v35 ^ ((v35 >> 14) & 262143)
    v36 = v34 ^ (v34 >> 5)
    v36 = v36 * 279958611
    v36 = v36 ^ ((v36 >> 8) & 16777215)
    v37 = (v25 & 0x7FFFFFFF) // 6134
    v38 = v33 ^ tl.max(v37, axis=0)
    v39 = v34 | 82
    v40 = v34 ^ tl.max(v33, axis=0)
    v41 = v40 + v35
    v42 = v38 ^ tl.max(v39, axis=0)
    v43 = v42 ^ (v42 >> 10)
    v43 = v43 * 50438753
    v43 = v43 ^ ((v43 >> 13) & 524287)
    v44 = v36 + v43
    v45 = tl.load(y + (v40 & 0x7FFFFFFF) % 24576)
    v46 = v42
    for i in tl.static_range(2):
        v46 = (v46 ^ (v46 << (i + 1))) + 11
    v47 = v46 | v41
    v48 = v46 ^ tl.sum(v47, axis=0)
    v49 = v47 ^ tl.sum(v41, axis=0)
    v50 = tl.minimum(v45, v47)
    v51 = v49 ^ (v49 >> 11)
    v51 = v51 * 1287316669
    v51 = v51 ^ ((v51 >> 14) & 262143)
    v52 = v40 ^ (v40 >> 11)
    v52 = v52 * 1195372543
    v52 = v52 ^ ((v52 >> 14) & 262143)
    v53 = v39 - v51
    v54 = tl.where(v39 > v51, v48, v53)
    v55 = v49 ^ (v49 >> 13)
    v55 = v55 * 1447094333
    v55 = v55 ^ ((v55 >> 16) & 65535)
    v56 = v51 << 5
    v57 = v47 ^ (v47 >> 7)
    v57 = v57 * 320678161
    v57 = v57 ^ ((v57 >> 10) & 4194303)
    v58 = tl.load(y + (v57 & 0x7FFFFFFF) % 24576)
    v59 = v49 << 17
    v60 = (v56 & 0x7FFFFFFF) % 3052
    v61 = tl.load(x + (v59 & 0x7FFFFFFF) % 24576)
    v62 = v61 - v59
    v63 = v55 << 18
    v64 = v59 ^ 916588401
    v65 = v56 >> 10
    v66 = tl.where(v64 >= v59, v65, v62)
    v67 = v65 - v61
    v68 = v63 ^ tl.sum(v65, axis=0)
    v69 = tl.load(x + (v66 & 0x7FFFFFFF) % 24576)
    v70 = v67 >> 24
    v71 = v68 ^ tl.sum(v63, axis=0)
    v72 = v69 - v70
    v73 = tl.maximum(v68, v66)
    v74 = v61
    for i in tl.static_range(3):
        v74 = (v74 ^ (v74 << (i + 1))) + 63
    v75 = v74 ^ tl.sum(v69, axis=0)
    v76 = v66 >> 9
    v77 = v75 ^ tl.max(v68, axis=0)
    v78 = tl.maximum(v77, v71)
    v79 = v78 * v71
    v80 = v79 ^ v77
    v81 = v76 * v80
    v82 = v80 << 13
    v83 = tl.where(v82 >= v78, v77, v80)
    v84 = v80 + 227
    v85 = v80 + 952611947
    v86 = v85 | 728456872
    v87 = tl.minimum(v81, v85)
    v88 = tl.where(v87 > v76, v86, v84)
    v89 = tl.load(y + (v88 & 0x7FFFFFFF) % 24576)
    v90 = v89 ^ tl.max(v87, axis=0)
    v91 = v86 ^ (v86 >> 16)
    v91 = v91 * 1216316313
    v91 = v91 ^ ((v91 >> 19) & 8191)
    v92 = v91 ^ (v91 >> 16)
    v92 = v92 * 1386561047
    v92 = v92 ^ ((v92 >> 19) & 8191)
    v93 = tl.where(v89 < v92, v84, v88)
    v94 = tl.where(v93 > v90, v83, v89)
    v95 = tl.load(y + (v92 & 0x7FFFFFFF) % 24576)
    v96 = (v91 & 0x7FFFFFFF) // 7502
    v97 = v95 + v96
    v98 = v97 << 6
    v99 = v97 * 70
    v100 = tl.where(v91 > v99, v97, v98)
    v101 = tl.minimum(v99, v99)
    v102 = v99 ^ (v99 >> 6)
    v102 = v102 * 1737648895
    v102 = v102 ^ ((v102 >> 9) & 8388607)
    v103 = v101 + 39
    v104 = v99 ^ v100
    v105 = tl.minimum(v104, v100)
    v106 = v101 ^ 209
    v107 = v103 - 221
    v108 = v107 ^ tl.sum(v104, axis=0)
    v109 = v108 ^ (v108 >> 10)
    v109 = v109 * 537194321
    v109 = v109 ^ ((v109 >> 13) & 524287)
    result = v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109
    tl.store(out + at, result)


@np.errstate(over="ignore")
def oracle(x, y):
    x, y = x.astype(np.int32), y.astype(np.int32)
    v0, v1 = x.reshape(PROGRAMS, BLOCK), y.reshape(PROGRAMS, BLOCK)
    v2 = v0 * v0
    v3 = v0 ^ 988500021
    v4 = v3 ^ v3.max(axis=1, keepdims=True)
    v5 = v1
    for i in range(4):
        v5 = (v5 ^ (v5 << (i + 1))) + 34701347
    v6 = v0 | v1
    v7 = v0 - v3
    v8 = np.where(v0 >= v0, v0, v7)
    v9 = v8 ^ (v8 >> 16)
    v9 = v9 * 1940486153
    v9 = v9 ^ ((v9 >> 19) & 8191)
    v10 = v7 << 7
    v11 = x[(v7 & 0x7FFFFFFF) % 24576]
    v12 = v9 ^ (v9 >> 7)
    v12 = v12 * 259445959
    v12 = v12 ^ ((v12 >> 10) & 4194303)
    v13 = v10 ^ (v10 >> 15)
    v13 = v13 * 513347817
    v13 = v13 ^ ((v13 >> 18) & 16383)
    v14 = y[(v13 & 0x7FFFFFFF) % 24576]
    v15 = v14 & 30
    v16 = (v14 & 0x7FFFFFFF) // 8866
    v17 = np.maximum(v10, v16)
    v18 = v17 + v14
    v19 = (v18 & 0x7FFFFFFF) % 4488
    v20 = x[(v13 & 0x7FFFFFFF) % 24576]
    v21 = v18 << 19
    v22 = v21 * 288392139
    v23 = v22 * 199
    v24 = v16 + v18
    v25 = v24 + 124
    v26 = np.where(v18 == v25, v23, v24)
    v27 = v26 ^ 418368512
    v28 = np.where(v26 > v27, v26, v27)
    v29 = np.where(v28 < v23, v22, v25)
    v30 = v26 ^ v28.max(axis=1, keepdims=True)
    v31 = v26 & v30
    v32 = v31 ^ v28
    v33 = v31
    for i in range(4):
        v33 = (v33 ^ (v33 << (i + 1))) + 109
    v34 = v32 << 18
    v35 = v30 ^ (v30 >> 11)
    v35 = v35 * 153719025
    v35 = v35 ^ ((v35 >> 14) & 262143)
    v36 = v34 ^ (v34 >> 5)
    v36 = v36 * 279958611
    v36 = v36 ^ ((v36 >> 8) & 16777215)
    v37 = (v25 & 0x7FFFFFFF) // 6134
    v38 = v33 ^ v37.max(axis=1, keepdims=True)
    v39 = v34 | 82
    v40 = v34 ^ v33.max(axis=1, keepdims=True)
    v41 = v40 + v35
    v42 = v38 ^ v39.max(axis=1, keepdims=True)
    v43 = v42 ^ (v42 >> 10)
    v43 = v43 * 50438753
    v43 = v43 ^ ((v43 >> 13) & 524287)
    v44 = v36 + v43
    v45 = y[(v40 & 0x7FFFFFFF) % 24576]
    v46 = v42
    for i in range(2):
        v46 = (v46 ^ (v46 << (i + 1))) + 11
    v47 = v46 | v41
    v48 = v46 ^ v47.sum(axis=1, keepdims=True, dtype=np.int32)
    v49 = v47 ^ v41.sum(axis=1, keepdims=True, dtype=np.int32)
    v50 = np.minimum(v45, v47)
    v51 = v49 ^ (v49 >> 11)
    v51 = v51 * 1287316669
    v51 = v51 ^ ((v51 >> 14) & 262143)
    v52 = v40 ^ (v40 >> 11)
    v52 = v52 * 1195372543
    v52 = v52 ^ ((v52 >> 14) & 262143)
    v53 = v39 - v51
    v54 = np.where(v39 > v51, v48, v53)
    v55 = v49 ^ (v49 >> 13)
    v55 = v55 * 1447094333
    v55 = v55 ^ ((v55 >> 16) & 65535)
    v56 = v51 << 5
    v57 = v47 ^ (v47 >> 7)
    v57 = v57 * 320678161
    v57 = v57 ^ ((v57 >> 10) & 4194303)
    v58 = y[(v57 & 0x7FFFFFFF) % 24576]
    v59 = v49 << 17
    v60 = (v56 & 0x7FFFFFFF) % 3052
    v61 = x[(v59 & 0x7FFFFFFF) % 24576]
    v62 = v61 - v59
    v63 = v55 << 18
    v64 = v59 ^ 916588401
    v65 = v56 >> 10
    v66 = np.where(v64 >= v59, v65, v62)
    v67 = v65 - v61
    v68 = v63 ^ v65.sum(axis=1, keepdims=True, dtype=np.int32)
    v69 = x[(v66 & 0x7FFFFFFF) % 24576]
    v70 = v67 >> 24
    v71 = v68 ^ v63.sum(axis=1, keepdims=True, dtype=np.int32)
    v72 = v69 - v70
    v73 = np.maximum(v68, v66)
    v74 = v61
    for i in range(3):
        v74 = (v74 ^ (v74 << (i + 1))) + 63
    v75 = v74 ^ v69.sum(axis=1, keepdims=True, dtype=np.int32)
    v76 = v66 >> 9
    v77 = v75 ^ v68.max(axis=1, keepdims=True)
    v78 = np.maximum(v77, v71)
    v79 = v78 * v71
    v80 = v79 ^ v77
    v81 = v76 * v80
    v82 = v80 << 13
    v83 = np.where(v82 >= v78, v77, v80)
    v84 = v80 + 227
    v85 = v80 + 952611947
    v86 = v85 | 728456872
    v87 = np.minimum(v81, v85)
    v88 = np.where(v87 > v76, v86, v84)
    v89 = y[(v88 & 0x7FFFFFFF) % 24576]
    v90 = v89 ^ v87.max(axis=1, keepdims=True)
    v91 = v86 ^ (v86 >> 16)
    v91 = v91 * 1216316313
    v91 = v91 ^ ((v91 >> 19) & 8191)
    v92 = v91 ^ (v91 >> 16)
    v92 = v92 * 1386561047
    v92 = v92 ^ ((v92 >> 19) & 8191)
    v93 = np.where(v89 < v92, v84, v88)
    v94 = np.where(v93 > v90, v83, v89)
    v95 = y[(v92 & 0x7FFFFFFF) % 24576]
    v96 = (v91 & 0x7FFFFFFF) // 7502
    v97 = v95 + v96
    v98 = v97 << 6
    v99 = v97 * 70
    v100 = np.where(v91 > v99, v97, v98)
    v101 = np.minimum(v99, v99)
    v102 = v99 ^ (v99 >> 6)
    v102 = v102 * 1737648895
    v102 = v102 ^ ((v102 >> 9) & 8388607)
    v103 = v101 + 39
    v104 = v99 ^ v100
    v105 = np.minimum(v104, v100)
    v106 = v101 ^ 209
    v107 = v103 - 221
    v108 = v107 ^ v104.sum(axis=1, keepdims=True, dtype=np.int32)
    v109 = v108 ^ (v108 >> 10)
    v109 = v109 * 537194321
    v109 = v109 ^ ((v109 >> 13) & 524287)
    result = v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109
    return {"out": result.reshape(-1)}


def contracts():
    bits = {"integers": [-2147483648, 2147483647]}
    yield Contract(
        name="integers_3", dtype="int32", kernel=integers_3_kernel, oracle=oracle,
        home="suite/semantics/contracts",
        arguments=[Tensor("x", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("y", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("out", "s32", (BLOCK * PROGRAMS,), "output")],
        constants={"BLOCK": BLOCK}, grid=(PROGRAMS,),
        tuning=[Config(num_warps=4), Config(num_warps=2), Config(num_warps=8)],
        tolerance={"absolute": 0.0, "relative": 0.0, "error_factor": 1.0})
