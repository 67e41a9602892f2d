#include "cpu/gemm-batch.h"

#include <algorithm>
#include <utility>

namespace weft::cpu {
namespace {

// A batch whose products share b, with the rows of a and c running on from one to the next, is one taller
// product.
bool joinRows(Batch& batch) {
  GemmProblem& p = batch.problem;
  const bool runsOn = batch.outer.empty() && batch.bStride == 0 && batch.aStride == p.m * p.a.rowStride &&
                      batch.cStride == p.m * p.c.rowStride;
  if (batch.count == 1 || !runsOn) return false;
  p.m *= batch.count;
  batch.count = 1;
  return true;
}

void advance(GemmOperand& operand, int64_t elements, int64_t elementByteLength) {
  operand.data += elements * elementByteLength;
}

}  // namespace

void transpose(Batch& batch) {
  GemmProblem& p = batch.problem;
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(batch.aStride, batch.bStride);
  for (BatchAxis& axis : batch.outer) std::swap(axis.aStride, axis.bStride);
  for (GemmOperand* operand : {&p.a, &p.b, &p.c}) *operand = operand->transposed();
}

void tidyStrides(Batch& batch) {
  GemmProblem& p = batch.problem;
  const auto tidy = [](GemmOperand& operand, int64_t rows, int64_t columns) {
    if (columns == 1) operand.columnStride = 1;
    if (rows == 1) operand.rowStride = columns * operand.columnStride;
  };
  tidy(p.a, p.m, p.k);
  tidy(p.b, p.k, p.n);
  tidy(p.c, p.m, p.n);
  if (p.m == 1 && batch.count > 1 && batch.outer.empty()) {
    p.a.rowStride = batch.aStride;
    p.c.rowStride = batch.cStride;
  }
}

Form simplify(Batch& batch) {
  Form form;
  if (joinRows(batch)) {
    form.rows = Form::joined;
  } else {
    transpose(batch);
    form.transposed = joinRows(batch);
    if (form.transposed)
      form.rows = Form::joinedTransposed;
    else
      transpose(batch);
  }
  const GemmOperand& c = batch.problem.c;
  if (c.columnStride != 1 && c.rowStride == 1) {
    transpose(batch);
    form.transposed = !form.transposed;
  }
  return form;
}

void simplifyAs(const Form& form, Batch& batch) {
  const bool turned = form.rows == Form::joinedTransposed;
  if (turned) transpose(batch);
  if (form.rows != Form::apart) joinRows(batch);
  if (form.transposed != turned) transpose(batch);
}

void restrict(Batch& batch, const MatmulPart& part) {
  GemmProblem& p = batch.problem;
  const int64_t first = part.rows.first / p.m;
  const int64_t row = part.rows.first % p.m;
  const int64_t rows = part.rows.last - part.rows.first;
  const BatchAxis axis =
      batch.isCutOuter ? batch.outer[0] : BatchAxis{batch.count, batch.aStride, batch.bStride, batch.cStride};
  advance(p.a, first * axis.aStride, p.elementByteLength);
  advance(p.b, first * axis.bStride, p.elementByteLength);
  advance(p.c, first * axis.cStride, p.elementByteLength);
  (batch.isCutOuter ? batch.outer[0].size : batch.count) = std::max<int64_t>(1, rows / p.m);
  p.m = std::min(rows, p.m);
  p.n = part.columns.last - part.columns.first;
  p.k = part.depth.last - part.depth.first;
  p.adds = part.depth.first > 0;
  advance(p.a, row * p.a.rowStride + part.depth.first * p.a.columnStride, p.elementByteLength);
  advance(p.b, part.depth.first * p.b.rowStride + part.columns.first * p.b.columnStride, p.elementByteLength);
  advance(p.c, row * p.c.rowStride + part.columns.first * p.c.columnStride, p.elementByteLength);
}

}  // namespace weft::cpu
