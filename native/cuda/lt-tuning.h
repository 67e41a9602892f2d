// Measuring the algorithms that cuBLASLt's heuristic offers for a product, on memory of its own.
//
// Which of them a product then takes, and for how long that is remembered, is
// src/exec/run/product-tuning.ts's affair.
#pragma once
#include <napi.h>

namespace weft::cuda {

// tuneProduct(device: string, product: ProductSpec, byteLengths: number[], most: number):
//   Promise<{ algorithm: number[], seconds: number }[]>
//
// At most `most` algorithms in the order of the heuristic; those that fail are left out. `byteLengths` are
// those of the product's buffers, by position.
Napi::Value tuneProduct(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
