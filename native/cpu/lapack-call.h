// Calls of Fortran functions, whose arguments are addresses.
#pragma once
#include <cstddef>
#include <type_traits>

namespace weft::cpu {

// Behind the arguments: the lengths of those that are texts, as gfortran passes them. Libraries that expect
// none do not look for them.
inline constexpr size_t kOneLetter = 1;

template <typename... Arguments>
void callFortran(void* function, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(function)(arguments...);
}

}  // namespace weft::cpu
