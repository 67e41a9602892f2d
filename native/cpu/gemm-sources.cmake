# Sources of the thread pool and of matrix products, for native/cpu/CMakeLists.txt: `WEFT_GEMM_SOURCES`.
set(WEFT_GEMM_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/available-threads.cpp
  ${CMAKE_CURRENT_LIST_DIR}/isa.cpp
  ${CMAKE_CURRENT_LIST_DIR}/threads.cpp)
