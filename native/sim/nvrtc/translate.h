// Translation of generated CUDA C to C++ for g++ with kernel.h: what no macro can do.
#pragma once
#include <map>
#include <string>

namespace weft::sim {

// `asm("op.type …" : "=c"(r) : "c"(a) …);` becomes `weft_ptx_op_type(r, a …);`, dynamic shared memory becomes
// a pointer, and for each kernel a call with pointers to its arguments is added, with what a launch has to
// know. Throws std::invalid_argument, with the line, for what it does not know.
std::string translate(const std::string& source, int architecture);

// The same of a source of a user's, behind generated kernels that fill its outputs: of it only the functions
// that are asked for can be launched, by the names that `names` gives them.
std::string translateUsers(const std::string& source, int architecture,
                           const std::map<std::string, std::string>& names);

}  // namespace weft::sim
