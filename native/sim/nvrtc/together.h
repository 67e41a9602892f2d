// Compiles sources that were announced (core/announced.h) together with the first of them that is asked for.
#pragma once
#include <string>

namespace weft::sim {

// Whether a source takes user-kernel.h, too: texts of users' own stand behind a `#line`; of Weft's own
// kernels some compare and swap.
bool usesFurther(const std::string& source);

// Has a source compiled with others that have the same options, if it was announced, and waits until it is.
// Whether it compiles, `compileKernel` tells, which finds it where it does. `translated`: the source, as it
// is compiled.
void compileAnnounced(const std::string& source, const std::string& translated, int architecture,
                      const std::string& options);

}  // namespace weft::sim
