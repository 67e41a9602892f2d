// Products of the numbers that sums of sparse matrices combine (scan-numbers.h).
#pragma once
#include "cpu/scan-numbers.h"

namespace weft::cpu {

template <typename T>
T times(T a, T b) {
  return a * b;
}
inline ScanPair<double> times(ScanPair<double> a, ScanPair<double> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

}  // namespace weft::cpu
