// Fourier transforms of an FFT library: FFTW, or MKL by its interface of FFTW, found at run time.
//
// The library transforms single sequences of complex numbers, by one plan for each length and direction.
// Plans are estimated, since measured ones differ from process to process, and always run out of place on
// aligned memory, where sequences go through scratch that are not so: a sequence has the same bits in
// whichever batch, tile or place it is. Real transforms are made of complex ones, as those of Weft's own are.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/fft.h"

namespace weft::cpu {

struct MathLibrary;

// Files to try where the loader finds no library by name, of float32 and of float64; before the first search.
void searchFft(const std::vector<std::string>& singles, const std::vector<std::string>& doubles);

// `auto`: one must be found, for float32 or float64; `none`: Weft's own transforms; else a file or a name, of
// a library of either precision, beside which that of the other is used where it is there. Throws
// std::runtime_error where there is no such library. Any thread, but not while transforms run.
void setFft(const std::string& library);

// Of float32 or float64; looks for one if no choice was made. Null: Weft's own transforms.
const MathLibrary* fftInUse(bool isDouble);

// The library's plan of a length; null: Weft's own are used.
FftPlanPointer libraryPlan(int64_t length, bool isDouble);
// Makes what the library's transforms need. Throws a Failure where the library does not.
void fillLibraryPlan(FftPlan& plan);

const FftKernels& libraryKernels(bool isDouble);

}  // namespace weft::cpu
