#pragma once

// The kernel contract: everything that a candidate must preserve. The text is contract.toml, format
// 1; a test reads the sample of docs/CONTRACT.md. Reading is strict: an unknown key is an error
// with its line.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/small_float.h"

namespace lathe {

enum class Dtype : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  e4m3,
  e5m2,
  e2m1,
  e2m3,
  e3m2,
  ue8m0,
  s64,
  s32,
  s16,
  s8,
  s4,
  u64,
  u32,
  u16,
  u8,
  u4,
  b8,
  b16,
  b32
};
std::string_view name_of(Dtype dtype);
/// Bits of one element as it is stored (4 and 6 for the packed types).
unsigned bits_of(Dtype dtype);
bool is_float(Dtype dtype);
/// The format of a float narrower than f64; null for all else.
const FloatFormat* format_of(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view name);

enum class Role : std::uint8_t { input, output, inout, scratch };
std::string_view name_of(Role role);

/// What an input's elements may be. Proofs and tests speak of these alone.
struct Values {
  struct Normal {};  // Any finite value; drawn from N(0, 1).
  struct Zero {};
  struct Uniform {
    double low, high;
  };
  struct Integers {
    std::int64_t low, high;
    std::vector<std::int64_t> extra;
  };
  struct List {
    std::vector<double> values;
  };
  struct Permutation {};
  struct IndicesBelow {
    std::uint64_t bound;
  };
  struct Mask {
    double density;
  };
  struct AnyBits {};
  struct File {
    std::string path;                          // Within the contract's directory.
    std::shared_ptr<const std::string> bytes;  // Null until read_contract has read it.
  };
  std::variant<Normal, Zero, Uniform, Integers, List, Permutation, IndicesBelow, Mask, AnyBits,
               File>
      kind;
};

/// Half-open index ranges, one a dimension.
using Box = std::vector<std::array<std::uint64_t, 2>>;

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> strides;  // In elements.
  Role role = Role::input;
  std::uint64_t align = 16;  // Bytes.
  Values values;
  std::vector<Box> defined;  // Of an output: what the reference writes. Empty: found by running it.

  std::uint64_t element_count() const;
  /// From the first element's byte to the last one's.
  std::uint64_t span_bytes() const;
};

enum class ParameterType : std::uint8_t {
  b8,
  b16,
  b32,
  b64,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f32,
  f64,
  f16
};
std::string_view name_of(ParameterType type);
unsigned bytes_of(ParameterType type);
bool is_float(ParameterType type);

/// In ABI order. A parameter is a tensor's address or a scalar.
/// A tensor map that the host makes of a tensor: what the driver is given beside the tensor itself.
struct HostMap {
  static constexpr unsigned bytes = 128, align = 64;
  std::vector<std::int64_t> box;              // In the order of the tensor's shape.
  std::vector<std::int64_t> element_strides;  // Likewise; empty: all 1.
  std::string swizzle = "none";               // none, 32B, 64B, 128B.
  bool nan_fill = false;                      // What is outside reads as NaN, not as zero.
  bool operator==(const HostMap&) const = default;
};

struct Parameter {
  std::string name;
  ParameterType type = ParameterType::u64;
  std::optional<std::size_t> tensor;  // Index into Contract::tensors.
  std::optional<HostMap> map;         // The parameter is a map of that tensor, not its address.
  std::uint64_t bits = 0;             // A scalar's value as its bits.
};

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  bool pdl = false;
  bool cooperative = false;
  std::vector<std::string> allow;

  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  std::uint32_t threads() const { return block[0] * block[1] * block[2]; }
  bool operator==(const Launch&) const = default;
};

struct Tolerance {
  double absolute = 0, relative = 0, error_factor = 2;
};

struct Precision {
  std::string operand, accumulate;  // Empty: what the reference itself uses.
  std::optional<bool> tensor_cores;
};

/// A further shape that the same candidate must serve: values that differ from the contract's own.
struct Case {
  std::string name;
  Launch launch;
  std::vector<Parameter> parameters;
  std::vector<Tensor> tensors;
};

struct Contract {
  std::string name, entry, target, ptx_isa;
  Launch launch;
  std::vector<Parameter> parameters;
  std::vector<Tensor> tensors;
  Tolerance tolerance;
  Precision precision;
  std::vector<std::array<std::string, 2>>
      constants;  // Key and value as TOML text: for the proposer's eyes.
  std::vector<Case> cases;
  std::string reference;  // The text of reference.ptx.
  std::filesystem::path directory;

  /// Over the canonical encoding of what gives the contract its meaning, the reference's bytes
  /// included.
  Digest identity() const;
};

/// Where in contract.toml its parts stand, for complaints of whoever compares it with something.
struct ContractPlaces {
  Place entry, target, ptx_isa, launch, block, cluster, dynamic_shared_bytes;
  std::vector<Place> parameters, tensors;
};

/// All complaints (at most `complaints_max`); empty `errors` means success.
struct ParsedContract {
  Contract contract;
  ContractPlaces places;
  std::vector<Error> errors;
};
inline constexpr std::size_t complaints_max = 20;

/// Reads DIR/contract.toml, DIR/reference.ptx and the files that `values` name. Does not check the
/// contract against the reference: that is pipeline/admission.h, which knows PTX.
ParsedContract load_contract(const std::filesystem::path& directory);
/// The same, with the first complaint as the error.
Result<Contract> read_contract(const std::filesystem::path& directory);

/// `file` is what complaints name.
ParsedContract parse_whole_contract(std::string_view toml, const std::string& file);
Result<Contract> parse_contract(std::string_view toml, const std::string& file);

/// A `[launch]` table by itself (`B.toml` of `lathe verify`), over `base`'s values.
Result<Launch> parse_launch(std::string_view toml, const std::string& file,
                            const std::string& target, const Launch& base);

/// The canonical text; parse_contract reads it back to an equal contract.
std::string print_contract(const Contract& contract);

/// "sm_90a" and so on; what lathe can lower for.
inline constexpr std::array<std::string_view, 3> known_targets{"sm_89", "sm_90a", "sm_100a"};

/// What a block may have at most on a target: static and dynamic shared memory together.
std::uint32_t shared_bytes_max(std::string_view target);

/// "9.4" as 904, so that versions compare; nothing where it is not one.
std::optional<unsigned> version_number(std::string_view version);

}  // namespace lathe
