// The secular equation, by whose roots a diagonal matrix changes into one with a column times its row added.
#pragma once
#include <cstdint>

namespace weft::cpu {

// Root k of 1/rho + Σ z_i² / (d_i - λ), d ascending and rho > 0: the one behind d_k. Gives λ, and d_i - λ in
// `delta`, each with a small relative error.
template <typename R>
R secularRoot(int64_t k, int64_t n, const R* d, const R* z, R rho, R* delta);

// Root k of 1 + Σ z_i² / (d_i² - ω²), d ascending from 0 on. Gives ω, and d_i² - ω² in `delta`.
template <typename R>
R singularRoot(int64_t k, int64_t n, const R* d, const R* z, R* delta);

}  // namespace weft::cpu
