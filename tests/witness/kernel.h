#pragma once

// A witness kernel: it loads operands, executes one instruction, and stores what that gave. Each is
// an entry of its own, `w(.param .u64 out, .param .u64 in)`, for the emulator and the device alike.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/witness/instance.h"
#include "tests/witness/launch.h"
#include "tests/witness/vectors.h"

namespace lathe::ptx::witness {

struct Kernel {
  std::string name;       // The instruction's mnemonic, and what tells its kernels apart.
  std::string mnemonic;   // "add.rn.f32"
  std::string variables;  // Module variables.
  std::string body;       // Between the braces of the entry.
  std::uint32_t blocks = 1, threads = 256;
  std::uint32_t vectors = 0;  // Operand vectors: executions of the instruction that are compared.
  std::string input;
  std::uint32_t output_bytes = 0;
  Launch launch;

  /// The whole module, with this kernel as its only entry.
  std::string module_text(std::string_view entry = "w") const;
};

inline constexpr std::string_view module_header =
    ".version 9.0\n.target sm_90a\n.address_size 64\n";
/// The entry alone.
std::string entry_text(const Kernel& kernel, std::string_view entry);

/// An operand of a kernel that works lane by lane.
struct Part {
  enum class Kind : std::uint8_t { in, out, text } kind = Kind::in;
  Type type = Type::b32;
  Use use = Use::value;
  bool with_predicate = false;  // d|p
  unsigned count = 1;           // Of a vector.
  std::string text;
};
using Operands = std::vector<Part>;

/// "{%x1, %x2}"
std::string braced(const std::vector<std::string>& names);

Part in(Type type, Use use = Use::value);
Part out(Type type);
Part fixed(std::string text);

/// Writes a kernel's text: columns of input and output, one element a thread.
class Writer {
 public:
  Writer(std::string name, std::string mnemonic, std::uint32_t blocks, std::uint32_t threads);

  std::uint32_t count() const { return kernel_.blocks * kernel_.threads; }
  /// A declared register that holds this thread's element of a new column of input.
  std::string load(Type type, Use use = Use::value);
  /// A column whose contents the caller gives, in `count()` elements of the type's cell.
  std::string load_given(Type type, const std::vector<std::uint64_t>& elements);
  /// A new register.
  std::string declare(Type type);
  /// Stores the register into a new column of output.
  void store(const std::string& name, Type type);
  void line(const std::string& text) { lines_ += "  " + text + "\n"; }
  void variable(const std::string& text) { declarations_ += "  " + text + "\n"; }
  void module_variable(const std::string& text) { kernel_.variables += text + "\n"; }
  /// Registers with the byte address of this thread's room of `bytes` in a new area.
  std::string input_area(unsigned bytes, const std::string& contents);
  std::string output_area(unsigned bytes);
  /// Where `contents` begin in the input, and so many new bytes in the output: a multiple of 128.
  std::size_t place_input(const std::string& contents);
  std::size_t place_output(std::size_t bytes);
  /// The launch is one of clusters of so many blocks.
  void cluster(std::uint32_t blocks) { kernel_.launch.cluster = blocks; }
  /// A register with the generic address of a new parameter, the tensor map.
  std::string map(const TensorMap& map, bool of_output = false);
  /// Draws the columns' contents and finishes.
  Kernel finish(std::uint64_t seed, std::uint32_t vectors);

 private:
  std::string address(const char* base, unsigned bytes);

  struct Pending {
    Column column;
    std::size_t offset = 0;
  };
  Kernel kernel_;
  std::string declarations_, lines_;
  std::vector<Pending> pending_;
  std::string input_;
  std::size_t output_ = 0;
  unsigned registers_ = 0;
  std::vector<std::pair<std::string, std::string>> addresses_;
};

/// The kernel of one instruction on registers.
Kernel register_kernel(const Instance& instance, const Operands& operands, std::uint32_t threads,
                       std::uint32_t blocks, std::string_view variant = "");

/// The operands of an instruction that reads and writes registers lane by lane; empty where it is
/// none of these.
std::vector<Operands> register_operands(const Instance& instance);

/// Kernels of instructions on whole warps, on memory and on asynchronous units.
std::vector<Kernel> warp_kernels(const Instance& instance);
std::vector<Kernel> matrix_kernels(const Instance& instance);
std::vector<Kernel> memory_kernels(const Instance& instance);
std::vector<Kernel> shared_kernels(const Instance& instance);
std::vector<Kernel> warpgroup_kernels(const Instance& instance);
std::vector<Kernel> sparse_kernels(const Instance& instance);
std::vector<Kernel> fragment_kernels(const Instance& instance);
std::vector<Kernel> address_kernels(const Instance& instance);
std::vector<Kernel> cluster_kernels(const Instance& instance);
std::vector<Kernel> tensor_kernels(const Instance& instance);
std::vector<Kernel> map_kernels(const Instance& instance);
std::vector<Kernel> stack_kernels(const Instance& instance);
std::vector<Kernel> wait_kernels(const Instance& instance);

/// All kernels of the table for sm_90a; of some opcodes with commas between them, of all where it
/// is empty.
std::vector<Kernel> all_kernels(std::string_view opcodes = "");

}  // namespace lathe::ptx::witness
