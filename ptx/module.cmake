# The engines (ptx/engine) are built for plain x86-64 and for AVX2. Each build becomes one object in which
# only its entry points are global, so that no inline function of one build serves the other.
file(GLOB engine_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ptx/engine/*.cpp)
# Processors without AVX2 are seldom by now: their engine is optimised less, so that compiling it takes less. Somebody at work
# on the machine sets LATHE_PLAIN_FLAGS=same: both builds then come out of one compilation (ccache).
set(LATHE_PLAIN_FLAGS "-O1" CACHE STRING "flags of the engine for processors without AVX2, or `same`: as the other's")
set(engine_flags_avx2 -march=x86-64-v3)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # A row's meaning is carried out inline, in each of its loops, however much the file of all rows grows.
  list(APPEND engine_flags_avx2 "SHELL:--param inline-unit-growth=400")
endif()
set(engine_flags_plain ${LATHE_PLAIN_FLAGS})
if(LATHE_PLAIN_FLAGS STREQUAL "same")
  set(engine_flags_plain ${engine_flags_avx2})
endif()
foreach(variant plain avx2)
  add_library(ptx_engine_${variant} OBJECT ${engine_sources})
  target_compile_options(ptx_engine_${variant} PRIVATE -O3 -ffp-contract=off -fno-trapping-math -fvisibility=hidden -fno-gnu-unique
    ${engine_flags_${variant}})
  target_compile_definitions(ptx_engine_${variant} PRIVATE LATHE_VARIANT=${variant})
  set(whole ${CMAKE_BINARY_DIR}/engine_${variant}.o)
  add_custom_command(
    OUTPUT ${whole}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${whole}.all $<TARGET_OBJECTS:ptx_engine_${variant}>
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=*engine_${variant}* ${whole}.all ${whole}
    DEPENDS ptx_engine_${variant} $<TARGET_OBJECTS:ptx_engine_${variant}>
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(ptx PRIVATE ${whole})
endforeach()
