#pragma once

// Products in tensor memory whose operands a test lays out byte by byte: one block of 128 rows and
// sixteen columns, A and B in shared memory without swizzle, and what else there is in columns of
// tensor memory.

#include <functional>

#include "ptx/bits_value.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx::tensor_lab {

inline constexpr unsigned rows = 128, columns = 16, extra_columns = 16;

inline std::string number(std::uint64_t value) { return std::to_string(value); }

/// Shared memory's A and B, in cores of 8 x 16 bytes, and sixteen columns of tensor memory.
struct Memory {
  unsigned a_row = 32, b_row = 32;  // Bytes.
  std::vector<std::uint8_t> shared;
  std::vector<std::uint32_t> tensor = std::vector<std::uint32_t>(rows * extra_columns);

  explicit Memory(unsigned b_bytes = 32) : b_row(b_bytes), shared(rows * 32 + columns * b_bytes) {}
  std::size_t place(bool of_a, unsigned row, unsigned byte) const {
    unsigned each = of_a ? a_row : b_row;
    return (of_a ? 0 : rows * a_row) + row / 8 * 8 * each + byte / 16 * 128 + row % 8 * 16 +
           byte % 16;
  }
  void put(bool of_a, unsigned row, unsigned bit, std::uint64_t bits) {
    for (unsigned byte = bit / 8; bits << bit % 8 != 0; ++byte) {
      auto& to = shared[place(of_a, row, byte)];
      to = static_cast<std::uint8_t>(to | bits << bit % 8);
      bits >>= 8 - bit % 8, bit = 8 * (byte + 1);
    }
  }
  void put_tensor(unsigned lane, unsigned column, unsigned byte, unsigned bits) {
    std::uint32_t& word = tensor[lane * extra_columns + column];
    word = (word & ~(0xFFu << 8 * byte)) | bits << 8 * byte;
  }
};

inline std::string descriptor(const std::string& d, std::size_t offset, unsigned row_bytes) {
  return "add.u32 %at, %s, " + number(offset) + ";\nbfe.u32 %at, %at, 4, 14;\ncvt.u64.u32 " + d +
         ", %at;\nor.b64 " + d + ", " + d + ", " +
         number(std::uint64_t{1} << 46 | std::uint64_t{row_bytes / 2} << 32 | 8u << 16) + ";\n";
}

/// D in columns 0 to 15 of tensor memory, zeros at first, and Memory::tensor in 32 to 47 (%x, and
/// %y eight on); the products, then sixteen columns of each lane from `from` on.
inline std::string text_of(const Memory& memory, std::uint32_t idesc, const std::string& products,
                           unsigned from = 0) {
  std::string list, text, bytes = number(memory.shared.size());
  for (unsigned i = 0; i < 16; ++i) list += (i == 0 ? "%d" : ", %d") + number(i);
  text = ".shared .align 1024 .b8 data[" + bytes + "];\n.shared .align 8 .b64 bar;\n" +
         ".shared .align 4 .b32 base;\nmov.u32 %s, data;\nmov.u32 %i, %tid;\n"
         "LOAD: mul.wide.u32 %offset, %i, 4;\nadd.s64 %in, %base, %offset;\n"
         "ld.global.u32 %v, [%in];\nmad.lo.u32 %at, %i, 4, %s;\nst.shared.u32 [%at], %v;\n"
         "add.u32 %i, %i, 128;\nsetp.lt.u32 %p, %i, " +
         number(memory.shared.size() / 4) +
         ";\n@%p bra LOAD;\nfence.proxy.async.shared::cta;\nsetp.eq.u32 %p, %tid, 0;\n"
         "setp.lt.u32 %q, %tid, 32;\nmov.u32 %at, base;\n"
         "@%q tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], 64;\n"
         "@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\nld.shared.b32 %t, [base];\n"
         "mul.wide.u32 %offset, %tid, 64;\nadd.s64 %in, %base, %offset;\n";
  for (unsigned i = 0; i < 16; ++i)
    text += "ld.global.u32 %d" + number(i) + ", [%in + " + number(memory.shared.size() + 4 * i) +
            "];\n";
  text +=
      "shr.u32 %w, %tid, 5;\nshl.b32 %w, %w, 21;\nadd.u32 %w, %w, %t;\n"
      "tcgen05.st.sync.aligned.32x32b.x16.b32 [%w + 32], {" +
      list +
      "};\nmov.u32 %v, 0;\ntcgen05.st.sync.aligned.32x32b.x16.b32 [%w], {%v, %v, %v, %v, %v, %v, "
      "%v, %v, %v, %v, %v, %v, %v, %v, %v, %v};\n"
      "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
      "tcgen05.fence::after_thread_sync;\n" +
      descriptor("%da", 0, 32) + descriptor("%db", rows * 32, memory.b_row) +
      "add.u32 %x, %t, 32;\nadd.u32 %y, %t, 40;\nmov.u32 %n, " + number(idesc) +
      ";\nmov.u32 %at, bar;\ncvt.u64.u32 %mb, %at;\n" + products +
      "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%mb];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n"
      "tcgen05.fence::after_thread_sync;\ntcgen05.ld.sync.aligned.32x32b.x16.b32 {" +
      list + "}, [%w + " + number(from) +
      "];\ntcgen05.wait::ld.sync.aligned;\nld.param.u64 %base, [p0];\n"
      "mul.wide.u32 %offset, %tid, 64;\nadd.s64 %out, %base, %offset;\n";
  for (unsigned i = 0; i < 16; ++i)
    text += "st.global.u32 [%out + " + number(4 * i) + "], %d" + number(i) + ";\n";
  text +=
      "bar.sync 0;\nsetp.lt.u32 %q, %tid, 32;\n"
      "@%q tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 64;\n";
  return body_text(
      ".reg .b32 %s, %i, %v, %at, %t, %w, %n, %x, %y, %d<16>; .reg .b64 %da, %db, %mb;"
      " .reg .pred %p, %q;\n",
      text, "sm_100a", "8.8");
}

inline Launched launched(const Memory& memory) {
  std::vector<std::uint8_t> bytes = memory.shared;
  bytes.resize(bytes.size() + 4 * memory.tensor.size());
  std::memcpy(&bytes[memory.shared.size()], memory.tensor.data(), 4 * memory.tensor.size());
  Launched launch;
  launch.add(std::vector<std::uint32_t>(rows * columns));
  launch.add(bytes);
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  return launch;
}

template <class T>
std::vector<T> run(const Memory& memory, const std::string& text) {
  std::vector<T> out;
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = launched(memory);
    launch.request.schedule = schedule;
    launch.watch(text);
    INFO((launch.result.trap ? print(*launch.result.trap) : ""));
    REQUIRE_FALSE(launch.result.trap);
    CHECK(launch.findings.empty());
    std::vector<T> now = launch.get<T>(0);
    if (!out.empty()) CHECK(std::memcmp(out.data(), now.data(), sizeof(T) * out.size()) == 0);
    out = now;
  }
  return out;
}

inline TrapKind trap_of(const Memory& memory, const std::string& text) {
  Launched launch = launched(memory);
  launch.watch(text);
  REQUIRE(launch.result.trap);
  return launch.result.trap->kind;
}

/// Rows in which D is not `wanted`.
template <class T>
std::vector<unsigned> wrong_rows(const std::vector<T>& out,
                                 const std::function<double(unsigned, unsigned)>& wanted) {
  std::vector<unsigned> wrong;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column)
      if (static_cast<double>(out[row * columns + column]) != wanted(row, column)) {
        wrong.push_back(row);
        break;
      }
  return wrong;
}

inline constexpr std::uint32_t shape_bits = columns / 8 << 17;
inline const std::string once = ", 0;\n";

inline std::uint32_t mixed(unsigned row, unsigned k, unsigned salt) {
  return (row * 2654435761u + k * 40503u + salt * 2246822519u) >> 11;
}

}  // namespace lathe::ptx::tensor_lab
