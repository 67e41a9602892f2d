// The resources of an open device: its context, its stream, and the objects that work is issued with. Made by
// CudaDevice::open, lives as long as the process. Used under the device's issuing lock, where nothing else is
// said.
#pragma once
#include <array>
#include <atomic>
#include <optional>

#include "cuda/blas-lt.h"
#include "cuda/blas.h"
#include "cuda/cutensor.h"
#include "cuda/detached-runs.h"
#include "cuda/driver.h"
#include "cuda/event.h"
#include "cuda/fft.h"
#include "cuda/modules.h"
#include "cuda/pool.h"
#include "cuda/slots.h"
#include "cuda/solver.h"
#include "cuda/sparse-solver.h"
#include "cuda/staging.h"
#include "cuda/submission-limit.h"
#include "cuda/sweep.h"
#include "runtime/program.h"
#include "shared/layout.h"

namespace weft::cuda {

struct Resources {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  // Further streams, for programs whose steps run in several; null until they are needed. Read by other
  // threads.
  std::array<std::atomic<CUstream>, kMostStreams - 1> others{};
  std::optional<DevicePool> pool;
  std::optional<Staging> staging;
  PinnedSlots slots;
  EventPool events;
  std::optional<SubmissionLimit> submissions;
  std::optional<DetachedRuns> detachedRuns;
  Modules modules;
  Graphs graphs;
  // Made by the first sweep, and kept; read by other threads.
  std::atomic<CopyStreams*> copies{nullptr};
  // Made by the first matrix product, the first with an epilogue, the first contraction by cuTENSOR, the
  // first Fourier transform, and the first factors of matrices, dense and sparse.
  std::optional<Blas> blas;
  std::optional<BlasLt> blasLt;
  std::optional<Tensors> tensors;
  std::optional<Fft> fft;
  std::optional<Solver> solver;
  std::optional<SparseSolver> sparseSolver;
};

}  // namespace weft::cuda
