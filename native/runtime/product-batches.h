// Batches of matrix products that several strides describe: `batch` matrices one stride apart, for each index
// of the outer axes. Of steps (runtime/program.h) and of jobs on the CPU (cpu/cpu.h) alike.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

// Products in all.
template <typename Product>
int64_t matrixCount(const Product& product) {
  int64_t count = product.batch;
  for (const int64_t size : product.outer) count *= size;
  return count;
}

// Whether parts of the product are ranges of the first outer axis. Otherwise they are ranges of `batch`: of
// the axis along which the result's matrices are furthest apart, so that parts of the result do not overlap.
template <typename Product>
bool isCutOuter(const Product& product) {
  return !product.outer.empty() && product.c.outerStrides[0] > product.c.batchStride;
}

// Rows of the result, counted along the axis that parts are ranges of.
template <typename Product>
int64_t lineCount(const Product& product) {
  return (isCutOuter(product) ? product.outer[0] : product.batch) * product.m;
}

// Calls `each` with the step for each index of its outer axes, as one without such axes.
template <typename Step, typename Each>
void eachInner(const Step& step, Each each) {
  Step part = step;
  part.outer.clear();
  const auto move = [&](auto& operand, const auto& whole, size_t axis, int64_t steps) {
    operand.offset += steps * whole.outerStrides[axis];
  };
  std::vector<int64_t> index(step.outer.size(), 0);
  for (int64_t left = matrixCount(step) / step.batch; left > 0; left--) {
    each(part);
    for (size_t axis = index.size(); axis-- > 0;) {
      const bool isOver = ++index[axis] == step.outer[axis];
      const int64_t steps = isOver ? 1 - step.outer[axis] : 1;
      move(part.a, step.a, axis, steps);
      move(part.b, step.b, axis, steps);
      move(part.c, step.c, axis, steps);
      if (step.epilogue && step.epilogue->addend)
        move(*part.epilogue->addend, *step.epilogue->addend, axis, steps);
      if (!isOver) break;
      index[axis] = 0;
    }
  }
}

}  // namespace weft
