# Sources of the thread pool and matrix products, for native/cpu/CMakeLists.txt:
# `WEFT_GEMM_SOURCES`, with the flags that the matrix kernels of each instruction set need.
set(WEFT_GEMM_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/available-threads.cpp
  ${CMAKE_CURRENT_LIST_DIR}/blas.cpp
  ${CMAKE_CURRENT_LIST_DIR}/describe.cpp
  ${CMAKE_CURRENT_LIST_DIR}/gemm-batch.cpp
  ${CMAKE_CURRENT_LIST_DIR}/gemm-blocked.cpp
  ${CMAKE_CURRENT_LIST_DIR}/gemm-vector.cpp
  ${CMAKE_CURRENT_LIST_DIR}/gemm.cpp
  ${CMAKE_CURRENT_LIST_DIR}/isa.cpp
  ${CMAKE_CURRENT_LIST_DIR}/lapack.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math-library.cpp
  ${CMAKE_CURRENT_LIST_DIR}/threads.cpp)

# A product and the sum it goes into are one fused instruction where there is one, on every instruction set alike.
set(weft_gemm_flags ${WEFT_KERNEL_OPTIMIZATION} -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wno-psabi)

# weft_gemm_kernels(file flags...): adds a kernel file, compiled for an instruction set.
function(weft_gemm_kernels file)
  set(path ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${file})
  set_source_files_properties(${path} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${weft_gemm_flags};${ARGN}")
  set(WEFT_GEMM_SOURCES ${WEFT_GEMM_SOURCES} ${path} PARENT_SCOPE)
endfunction()

weft_gemm_kernels(gemm-baseline.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT WEFT_SANITIZE)
  # Zig's compiler reads the names of processors in its own way, and takes no hyphens.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(weft_tune_avx2 -mtune=haswell)
    set(weft_tune_avx512 -mtune=skylake-avx512)
  endif()
  weft_gemm_kernels(gemm-avx2.cpp -mavx2 -mfma -mf16c ${weft_tune_avx2})
  weft_gemm_kernels(gemm-avx512.cpp -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
                    -mprefer-vector-width=512 ${weft_tune_avx512})
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND NOT WEFT_SANITIZE)
  weft_gemm_kernels(gemm-neon.cpp)
endif()
