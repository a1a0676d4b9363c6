/* Launches the deployed add_kernel from C and compares every element. */
#include <stdio.h>
#include <stdlib.h>

#include "add_kernel.h"

#define N 5000
#define TRY(call)                                                    \
  do {                                                               \
    CUresult result_ = (call);                                       \
    if (result_ != CUDA_SUCCESS) {                                   \
      fprintf(stderr, "%s: CUDA error %d\n", #call, (int)result_);   \
      return 1;                                                      \
    }                                                                \
  } while (0)

int main(int count, char** words) {
  static float x[N], y[N], out[N];
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUdeviceptr at_x, at_y, at_out;
  int i, wrong = 0;
  if (count != 2) return 64;
  for (i = 0; i < N; ++i) x[i] = 0.5f * (float)i, y[i] = 3.0f - (float)i;
  TRY(cuInit(0));
  TRY(cuDeviceGet(&device, 0));
  TRY(cuDevicePrimaryCtxRetain(&context, device));
  TRY(cuCtxSetCurrent(context));
  TRY(lathe_add_kernel_load(words[1], &module, &function));
  TRY(cuMemAlloc(&at_x, sizeof x));
  TRY(cuMemAlloc(&at_y, sizeof y));
  TRY(cuMemAlloc(&at_out, sizeof out));
  TRY(cuMemcpyHtoD(at_x, x, sizeof x));
  TRY(cuMemcpyHtoD(at_y, y, sizeof y));
  TRY(lathe_add_kernel_launch(function, NULL, at_x, at_y, at_out));
  TRY(cuMemcpyDtoH(out, at_out, sizeof out));
  for (i = 0; i < N; ++i) wrong += out[i] != x[i] + y[i];
  printf("add from C: %d of %d elements wrong; misaligned launch refused: %d\n", wrong, N,
         lathe_add_kernel_launch(function, NULL, at_x + 4, at_y, at_out) ==
             CUDA_ERROR_MISALIGNED_ADDRESS);
  return wrong != 0;
}
