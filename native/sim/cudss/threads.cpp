// The simulated cuDSS's layer of threads: there is one, and it is never called.
extern "C" __attribute__((visibility("default"))) const void* const cudssThreadingInterface = nullptr;
