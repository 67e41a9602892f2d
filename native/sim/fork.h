// fork(2) in the middle of a Node process, as native code might do it, for tests of what Weft does in the
// copy.
#pragma once
#include <node_api.h>

namespace weft::sim {

// fork(): number — of the copy, in the copy 0.
napi_value forkProcess(napi_env env, napi_callback_info info);
// leave(code: number): never — without the handlers of Node and libraries, which wait for threads that a copy
// has not.
napi_value leaveProcess(napi_env env, napi_callback_info info);

}  // namespace weft::sim
