// What contract.toml must be, and where the complaint points when it is not.

#include "contract/contract.h"

#include <algorithm>

#include "tests/contract/sample.h"

namespace lathe {
namespace {

/// The first complaint about the sample after one edit.
Error refusal(const std::string& before, const std::string& after) {
  auto parsed = parse_whole_contract(sample_with(before, after), "c.toml");
  REQUIRE_FALSE(parsed.errors.empty());
  return parsed.errors.front();
}

bool says(const Error& error, const std::string& part) {
  INFO(error.place.line << ": " << error.what << " / " << error.remedy);
  CHECK(
      (error.what.find(part) != std::string::npos || error.remedy.find(part) != std::string::npos));
  CHECK(error.place.file == "c.toml");
  CHECK(error.place.line > 0);
  CHECK(error.place.column > 0);
  CHECK_FALSE(error.remedy.empty());
  return true;
}

TEST_CASE("the sample of the documentation is read") {
  Contract contract = sample_contract();
  CHECK(contract.entry == "softmax_kernel");
  CHECK(contract.launch.blocks() == 4096);
  CHECK(contract.launch.threads() == 256);
  REQUIRE(contract.parameters.size() == 5);
  CHECK(contract.parameters[0].tensor == 0u);
  CHECK(contract.parameters[2].bits == 4096);
  REQUIRE(contract.tensors.size() == 2);
  CHECK(contract.tensors[1].role == Role::output);
  CHECK(contract.tensors[0].span_bytes() == 4096u * 4096u * 2u);
  CHECK(contract.tolerance.error_factor == 2.0);
  CHECK(contract.constants.size() == 4);
}

TEST_CASE("the sample's case is read when its comment marks go") {
  std::string text = sample_text();
  for (std::size_t at; (at = text.find("# [[case]]")) != std::string::npos ||
                       (at = text.find("# name = \"short")) != std::string::npos ||
                       (at = text.find("# launch.grid")) != std::string::npos ||
                       (at = text.find("# scalar.")) != std::string::npos ||
                       (at = text.find("# tensor.")) != std::string::npos;)
    text.erase(at, 2);
  auto contract = parse_contract(text, "c.toml");
  REQUIRE(contract.has_value());
  REQUIRE(contract->cases.size() == 1);
  const Case& made = contract->cases[0];
  CHECK(made.launch.grid[0] == 512);
  CHECK(made.launch.block[0] == 256);
  CHECK(made.parameters[2].bits == 1000);
  CHECK(made.tensors[0].shape == std::vector<std::uint64_t>{512, 1000});
  CHECK(made.tensors[0].strides == std::vector<std::uint64_t>{1000, 1});
  CHECK(made.tensors[1].shape == std::vector<std::uint64_t>{4096, 4096});
}

TEST_CASE("a printed contract reads back to itself") {
  Contract contract = sample_contract();
  std::string text = print_contract(contract);
  auto again = parse_contract(text, "again.toml");
  REQUIRE(again.has_value());
  CHECK(print_contract(*again) == text);
  CHECK(again->identity() == contract.identity());
}

TEST_CASE("every kind of values survives printing") {
  for (std::string values :
       {"\"normal\"", "\"zero\"", "{uniform = [-1.5, 2]}", "{integers = [-3, 7], or = [-100]}",
        "{list = [1, 2.5, -0.0]}", "{mask = 0.25}", "\"bits\"", "{file = \"x.bin\"}"}) {
    INFO(values);
    auto first = parse_contract(sample_with("values = \"normal\"", "values = " + values), "c.toml");
    REQUIRE(first.has_value());
    auto second = parse_contract(print_contract(*first), "d.toml");
    REQUIRE(second.has_value());
    CHECK(second->identity() == first->identity());
    CHECK(first->tensors[0].values.kind.index() == second->tensors[0].values.kind.index());
  }
}

TEST_CASE("an unknown key is refused at its place with the nearest known name") {
  std::string text = sample_with("ptx_isa =", "ptx_isaa =");
  auto parsed = parse_whole_contract(text, "c.toml");
  bool found = false;
  for (const Error& error : parsed.errors)
    if (error.what.find("ptx_isaa") != std::string::npos) {
      found = true;
      CHECK(error.place.line == line_of(text, "ptx_isaa"));
      CHECK(error.place.column == 1);
      CHECK(error.remedy.find("`ptx_isa`") != std::string::npos);
    }
  CHECK(found);
}

TEST_CASE("an unknown key is refused in every table") {
  CHECK(says(refusal("cluster = [1, 1, 1]", "clusters = [1, 1, 1]"), "did you mean `cluster`"));
  CHECK(says(refusal("value = 4096", "valeu = 4096\nvalue = 4096"), "did you mean `value`"));
  CHECK(says(refusal("dtype = \"f16\"", "dtype = \"f16\"\ndtyp = 1"), "did you mean `dtype`"));
  CHECK(says(refusal("error_factor", "eror_factor"), "did you mean `error_factor`"));
  CHECK(says(refusal("operand", "operands"), "did you mean `operand`"));
  CHECK(says(refusal("format  = 1", "format = 1\nzebra_crossing = 2"), "zebra_crossing"));
}

TEST_CASE("a wrong type is refused") {
  CHECK(says(refusal("entry   = \"softmax_kernel\"", "entry = 7"), "must be a string"));
  CHECK(says(refusal("grid  = [4096, 1, 1]", "grid = 4096"), "three integers"));
  CHECK(says(refusal("dynamic_shared_bytes = 32", "dynamic_shared_bytes = \"32\""),
             "must be an integer"));
  CHECK(says(refusal("tensor_cores = true", "tensor_cores = 1"), "must be a boolean"));
  CHECK(says(refusal("absolute = 1e-3", "absolute = \"small\""), "must be a number"));
}

TEST_CASE("a tolerance under which anything passes is refused, a strict one is read") {
  CHECK(says(refusal("relative = 1e-3", "relative = 1.0"), "zeros pass"));
  CHECK(says(refusal("relative = 1e-3", "relative = inf"), "finite"));
  CHECK(says(refusal("error_factor = 2.0", "error_factor = 1e9"), "2 is usual"));
  CHECK(says(refusal("absolute = 1e-3", "absolute = 65504.0"), "greatest value"));
  CHECK(says(refusal("absolute = 1e-3", "absolute = -1e-3"), "at least"));
  for (auto [before, after] : {std::pair{"relative = 1e-3", "relative = 0.999"},
                               {"absolute = 1e-3", "absolute = 0.0"},
                               {"absolute = 1e-3", "absolute = 65503.0"},
                               {"error_factor = 2.0", "error_factor = 1000"},
                               {"error_factor = 2.0", "error_factor = 0"}})
    CHECK(parse_whole_contract(sample_with(before, after), "c.toml").errors.empty());
}

TEST_CASE("a missing field is refused") {
  for (std::string line : {"format  = 1\n", "target  = \"sm_90a\"", "grid  = [4096, 1, 1]\n",
                           "dtype = \"f16\"\n", "role = \"input\"\n", "absolute = 1e-3\n"}) {
    INFO(line);
    CHECK(says(refusal(line, ""), "missing"));
  }
}

TEST_CASE("an unknown target, type or role is refused with what is known") {
  CHECK(says(refusal("sm_90a", "sm_35"), "unknown target `sm_35`"));
  CHECK(says(refusal("sm_90a", "sm_90b"), "`sm_90a`"));
  CHECK(says(refusal("dtype = \"f16\"", "dtype = \"fp16\""), "did you mean `f16`"));
  CHECK(says(refusal("role = \"input\"", "role = \"inputs\""), "did you mean `input`"));
  CHECK(says(refusal("type = \"u32\"", "type = \"i32\""), "unknown type `i32`"));
  CHECK(says(refusal("values = \"normal\"", "values = \"norml\""), "did you mean `normal`"));
}

TEST_CASE("a scalar outside of its type is refused, at its edges it is not") {
  CHECK(says(refusal("value = 4096", "value = 4294967296"), "outside of u32"));
  CHECK(says(refusal("value = 4096", "value = -1"), "outside of u32"));
  CHECK(parse_contract(sample_with("value = 4096", "value = 4294967295"), "c").has_value());
  CHECK(parse_contract(sample_with("type = \"u32\"\nvalue = 4096", "type = \"s8\"\nvalue = -128"),
                       "c")
            .has_value());
  CHECK(says(refusal("type = \"u32\"\nvalue = 4096", "type = \"s8\"\nvalue = -129"),
             "outside of s8"));
  CHECK(says(refusal("type = \"u32\"\nvalue = 4096", "type = \"f32\"\nvalue = 1e39"),
             "greatest value of f32"));
}

TEST_CASE("a float scalar and bits in hexadecimal are read") {
  auto one = parse_contract(
      sample_with("type = \"u32\"\nvalue = 4096", "type = \"f32\"\nvalue = 1.0"), "c");
  REQUIRE(one.has_value());
  CHECK(one->parameters[2].bits == 0x3F800000u);
  auto all = parse_contract(
      sample_with("type = \"u32\"\nvalue = 4096", "type = \"u64\"\nvalue = \"0xffffffffffffffff\""),
      "c");
  REQUIRE(all.has_value());
  CHECK(all->parameters[2].bits == ~std::uint64_t{0});
  CHECK(parse_contract(print_contract(*all), "d")->identity() == all->identity());
  CHECK(says(refusal("value = 4096", "value = \"0x1ffffffff\""), "no bits of u32"));
}

TEST_CASE("a launch that no GPU can make is refused") {
  CHECK(says(refusal("grid  = [4096, 1, 1]", "grid = [0, 1, 1]"), "outside of 1 to"));
  CHECK(says(refusal("grid  = [4096, 1, 1]", "grid = [1, 65536, 1]"), "outside of 1 to 65535"));
  CHECK(says(refusal("block = [256, 1, 1]", "block = [512, 4, 1]"), "2048 threads"));
  CHECK(parse_contract(sample_with("block = [256, 1, 1]", "block = [256, 4, 1]"), "c").has_value());
  CHECK(says(refusal("dynamic_shared_bytes = 32", "dynamic_shared_bytes = 232449"),
             "outside of 0 to 232448"));
  CHECK(says(refusal("cluster = [1, 1, 1]", "cluster = [3, 1, 1]"), "does not divide"));
  CHECK(says(refusal("cluster = [1, 1, 1]", "cluster = [32, 1, 1]"), "outside of 1 to 16"));
  CHECK(says(refusal("allow = []", "allow = [\"blocks\"]"), "unknown freedom"));
}

TEST_CASE("clusters and dependent launches are refused on a target without them") {
  std::string text = sample_with("sm_90a", "sm_89");
  CHECK(parse_contract(text, "c.toml").has_value());
  std::string clustered = text;
  clustered.replace(clustered.find("cluster = [1"), 12, "cluster = [2");
  CHECK_FALSE(parse_contract(clustered, "c.toml").has_value());
}

TEST_CASE("strides and shape must agree, and no two elements may meet") {
  CHECK(says(refusal("strides = [4096, 1]", "strides = [4096]"), "`shape` has 2"));
  CHECK(says(refusal("strides = [4096, 1]", "strides = [4095, 1]"), "two elements in one place"));
  CHECK(says(refusal("strides = [4096, 1]", "strides = [0, 1]"), "two elements in one place"));
  CHECK(parse_contract(sample_with("strides = [4096, 1]", "strides = [1, 4096]"), "c").has_value());
  CHECK(parse_contract(sample_with("strides = [4096, 1]", "strides = [5000, 1]"), "c").has_value());
}

TEST_CASE("a layout whose dimensions interleave without meeting is accepted") {
  std::string shape = "shape = [4096, 4096]\nstrides = [4096, 1]";
  CHECK(parse_contract(sample_with(shape, "shape = [2, 3]\nstrides = [3, 2]"), "c").has_value());
  CHECK(says(refusal(shape, "shape = [3, 3]\nstrides = [4, 2]"), "two elements in one place"));
}

TEST_CASE("a shape without extent, without dimensions or beyond memory is refused") {
  CHECK(says(refusal("shape = [4096, 4096]", "shape = [0, 4096]"), "outside of 1 to"));
  CHECK(says(refusal("shape = [4096, 4096]\nstrides = [4096, 1]", "shape = []"),
             "one to eight dimensions"));
  CHECK(says(
      refusal("shape = [4096, 4096]\nstrides = [4096, 1]", "shape = [274877906944, 274877906944]"),
      "256 GiB"));
}

TEST_CASE("an alignment that is no power of two or too small is refused") {
  CHECK(says(refusal("align = 16", "align = 12"), "no power of two"));
  CHECK(says(refusal("align = 16", "align = 1"), "smaller than an element"));
  CHECK(parse_contract(sample_with("align = 16", "align = 2"), "c").has_value());
}

TEST_CASE("a parameter must name a tensor, and a tensor be named") {
  CHECK(says(refusal("tensor = \"x\"", "tensor = \"z\""), "no tensor `z`"));
  std::string text = sample_with("tensor = \"x\"", "tensor = \"y\"");
  auto parsed = parse_whole_contract(text, "c.toml");
  REQUIRE(parsed.errors.size() == 2);
  CHECK(parsed.errors[0].what.find("no parameter names tensor `x`") != std::string::npos);
  CHECK(parsed.errors[1].what.find("outputs overlap") != std::string::npos);
  CHECK(says(refusal("name = \"y\"\ntensor", "name = \"x\"\ntensor"), "two parameters"));
  auto twice =
      parse_whole_contract(sample_with("name = \"y\"\ndtype", "name = \"x\"\ndtype"), "c.toml");
  CHECK(std::any_of(twice.errors.begin(), twice.errors.end(),
                    [](const Error& error) { return error.what == "two tensors are called `x`"; }));
}

TEST_CASE("a parameter is an address or a scalar, not both") {
  CHECK(says(refusal("tensor = \"x\"", "tensor = \"x\"\nvalue = 3"), "contradicts `tensor`"));
  CHECK(says(refusal("tensor = \"x\"", "tensor = \"x\"\ntype = \"u32\""), "64 bits"));
}

TEST_CASE("a parameter may be a tensor map that the host makes, and is printed back") {
  std::string text = sample_with("tensor = \"x\"",
                                 "tensormap = {tensor = \"x\", box = [64, 32], swizzle = \"64B\"}");
  auto contract = parse_contract(text, "c.toml");
  REQUIRE(contract.has_value());
  const Parameter& parameter = contract->parameters[0];
  CHECK(parameter.tensor == 0u);
  REQUIRE(parameter.map.has_value());
  CHECK(parameter.map->box == std::vector<std::int64_t>{64, 32});
  CHECK(parameter.map->swizzle == "64B");
  auto again = parse_contract(print_contract(*contract), "again.toml");
  REQUIRE(again.has_value());
  CHECK(again->parameters[0].map == parameter.map);
}

TEST_CASE("a tensor map with a box of another rank, or an unknown word, is refused") {
  auto map = [](const std::string& rest) {
    return refusal("tensor = \"x\"", "tensormap = {tensor = \"x\", " + rest + "}");
  };
  CHECK(says(map("box = [64]"), "box"));
  CHECK(says(map("box = [64, 300]"), "box"));
  CHECK(says(map("box = [64, 64], swizzle = \"96B\""), "swizzle"));
  CHECK(says(map("box = [64, 64], fill = \"one\""), "fill"));
  CHECK(says(map("box = [64, 64], colour = 1"), "colour"));
}

TEST_CASE("a malformed ptx_isa, or one older than the target, is refused") {
  for (std::string isa : {"nine", "9", "9.", ".4", "9.4.1", "09.4", "-1.0"}) {
    INFO(isa);
    CHECK(says(refusal("\"9.4\"", "\"" + isa + "\""), "no PTX version"));
  }
  CHECK(says(refusal("\"9.4\"", "\"7.8\""), "does not know sm_90a"));
  CHECK(parse_contract(sample_with("\"9.4\"", "\"8.0\""), "c").has_value());
}

TEST_CASE("values that the type does not hold are refused") {
  auto values = [](const std::string& text) {
    return refusal("values = \"normal\"", "values = " + text);
  };
  CHECK(says(values("{uniform = [0, 70000]}"), "no value of f16"));
  CHECK(says(values("{uniform = [2, 1]}"), "smaller number first"));
  CHECK(says(values("\"permutation\""), "for integers"));
  CHECK(says(values("{indices_below = 5}"), "indices are integers"));
  CHECK(says(values("{list = []}"), "at least one"));
  CHECK(says(values("{mask = 1.5}"), "at most 1"));
  CHECK(says(values("{file = \"../x.bin\"}"), "not inside"));
  CHECK(says(values("{file = \"/x.bin\"}"), "not inside"));
  CHECK(says(values("{unform = [0, 1]}"), "did you mean `uniform`"));
  CHECK(says(values("{uniform = [0, 1], or = [2]}"), "unknown key `or`"));
}

TEST_CASE("integer inputs must say what they may be") {
  std::string dtype = "dtype = \"f16\"";
  CHECK(says(refusal(dtype, "dtype = \"s32\""), "`normal` is for floats"));
  std::string text = sample_with(dtype, "dtype = \"s32\"");
  text.erase(text.find("values = \"normal\""), 17);
  CHECK(says(parse_whole_contract(text, "c.toml").errors.front(), "which integers"));
  std::string good = sample_with(dtype, "dtype = \"u8\"");
  good.replace(good.find("\"normal\""), 8, "{indices_below = 256}");
  CHECK(parse_contract(good, "c").has_value());
  good.replace(good.find("256}"), 4, "257}");
  CHECK_FALSE(parse_contract(good, "c").has_value());
}

TEST_CASE("values of an output are refused") {
  CHECK(
      says(refusal("role = \"output\"", "role = \"output\"\nvalues = \"normal\""), "of an output"));
}

TEST_CASE("defined boxes lie within an output's shape") {
  auto defined = [](const std::string& boxes) {
    return sample_with("role = \"output\"", "role = \"output\"\ndefined = " + boxes);
  };
  auto contract = parse_contract(defined("[[[0, 4096], [0, 4000]]]"), "c");
  REQUIRE(contract.has_value());
  CHECK(contract->tensors[1].defined.size() == 1);
  CHECK(parse_contract(print_contract(*contract), "d")->identity() == contract->identity());
  for (std::string boxes : {"[[[0, 4097], [0, 4]]]", "[[[0, 4096]]]", "[[[4, 4], [0, 4]]]",
                            "[[0, 4], [0, 4]]", "7", "[[[-1, 4], [0, 4]]]"}) {
    INFO(boxes);
    CHECK_FALSE(parse_contract(defined(boxes), "c").has_value());
  }
  CHECK(says(refusal("role = \"input\"", "role = \"input\"\ndefined = [[[0, 1], [0, 1]]]"),
             "no output"));
}

TEST_CASE("a contract without an output is refused") {
  CHECK(says(refusal("role = \"output\"", "role = \"scratch\""), "no tensor has the role"));
}

TEST_CASE("several complaints come at once, in the order of the file, and at most twenty") {
  std::string text = sample_with("target  = \"sm_90a\"", "target = \"sm_1\"");
  text.replace(text.find("\"f16\""), 5, "\"f17\"");
  auto parsed = parse_whole_contract(text, "c.toml");
  REQUIRE(parsed.errors.size() >= 2);
  CHECK(std::is_sorted(parsed.errors.begin(), parsed.errors.end(),
                       [](const Error& a, const Error& b) { return a.place.line < b.place.line; }));
  std::string many;
  for (int i = 0; i < 50; ++i) many += "unknown_key_" + std::to_string(i) + " = 1\n";
  auto refused = parse_whole_contract(many + sample_text(), "c.toml");
  CHECK(refused.errors.size() == 20);
  CHECK(refused.errors.back().what == "and 31 more complaints");
}

TEST_CASE("what is no TOML is refused with line and column") {
  Error error = refusal("[launch]", "[launch");
  CHECK(says(error, "not TOML"));
  CHECK(error.place.line == line_of(sample_text(), "[launch]"));
}

TEST_CASE("a case may change only what one candidate can serve") {
  auto with_case = [](const std::string& body) {
    return parse_whole_contract(sample_text() + "\n[[case]]\nname = \"short\"\n" + body, "c.toml");
  };
  CHECK(with_case("scalar.n_cols = 1000\n").errors.empty());
  CHECK(says(with_case("scalar.n_rows = 1\n").errors.front(), "did you mean `n_cols`"));
  CHECK(says(with_case("launch.block = [1, 1, 1]\n").errors.front(), "the grid only"));
  CHECK(says(with_case("tensor.z.shape = [1]\n").errors.front(), "no tensor `z`"));
  CHECK(says(with_case("tensor.x.dtype = \"f32\"\n").errors.front(), "unknown key"));
  CHECK(says(with_case("scalar.n_cols = -1\n").errors.front(), "outside of u32"));
}

TEST_CASE("a launch by itself is read over the contract's") {
  Launch base = sample_contract().launch;
  auto launch = parse_launch("[launch]\nblock = [128, 1, 1]\n", "B.toml", "sm_90a", base);
  REQUIRE(launch.has_value());
  CHECK(launch->block[0] == 128);
  CHECK(launch->grid == base.grid);
  CHECK_FALSE(parse_launch("[launch]\nblok = [1, 1, 1]\n", "B.toml", "sm_90a", base).has_value());
}

TEST_CASE("the identity is that of the meaning") {
  Digest identity = sample_contract().identity();
  auto of = [](const std::string& text) { return parse_contract(text, "elsewhere/c.toml"); };
  SECTION("not of comments, names and the order of constants") {
    for (const std::string& same :
         {sample_with("# assembled for exactly this", ""), sample_with("\"softmax\"", "\"other\""),
          sample_with("BLOCK = 4096\nnum_warps = 8", "num_warps = 8\nBLOCK = 4096"),
          sample_with("cluster = [1, 1, 1]\n", ""), sample_with("align = 16\n", "")}) {
      auto contract = of(same);
      REQUIRE(contract.has_value());
      CHECK(contract->identity() == identity);
    }
  }
  SECTION("of everything else") {
    for (const auto& [before, after] :
         std::vector<std::array<std::string, 2>>{{"\"softmax_kernel\"", "\"softmax\""},
                                                 {"\"9.4\"", "\"9.3\""},
                                                 {"grid  = [4096", "grid  = [4095"},
                                                 {"block = [256", "block = [128"},
                                                 {"bytes = 32", "bytes = 36"},
                                                 {"allow = []", "allow = [\"block\"]"},
                                                 {"value = 4096", "value = 4095"},
                                                 {"\"u32\"", "\"s32\""},
                                                 {"\"f16\"", "\"bf16\""},
                                                 {"strides = [4096", "strides = [4097"},
                                                 {"align = 16", "align = 8"},
                                                 {"\"normal\"", "{uniform = [0, 1]}"},
                                                 {"absolute = 1e-3", "absolute = 1e-4"},
                                                 {"factor = 2.0", "factor = 3.0"},
                                                 {"accumulate = \"f32\"", "accumulate = \"f16\""},
                                                 {"BLOCK = 4096", "BLOCK = 2048"}}) {
      INFO(before << " to " << after);
      auto contract = of(sample_with(before, after));
      REQUIRE(contract.has_value());
      CHECK_FALSE(contract->identity() == identity);
    }
    Contract contract = sample_contract();
    contract.reference = "x";
    CHECK_FALSE(contract.identity() == identity);
  }
}

TEST_CASE("a directory without a contract is unavailable, a truncated one malformed") {
  Scratch scratch;
  CHECK(read_contract(scratch.path()).error().fault == Fault::unavailable);
  REQUIRE(write_file(scratch.path() / "contract.toml", "").has_value());
  CHECK(read_contract(scratch.path()).error().fault == Fault::malformed);
  REQUIRE(write_file(scratch.path() / "contract.toml", sample_text()).has_value());
  CHECK(read_contract(scratch.path()).error().place.file.ends_with("reference.ptx"));
  REQUIRE(write_file(scratch.path() / "reference.ptx", ".version 8.7\n").has_value());
  CHECK(read_contract(scratch.path()).has_value());
}

TEST_CASE("a values file must have the bytes of its tensor") {
  Scratch scratch;
  std::string text = sample_with("shape = [4096, 4096]\nstrides = [4096, 1]", "shape = [8]");
  text.replace(text.find("\"normal\""), 8, "{file = \"x.bin\"}");
  REQUIRE(write_file(scratch.path() / "contract.toml", text).has_value());
  REQUIRE(write_file(scratch.path() / "reference.ptx", ".version 8.7\n").has_value());
  CHECK(read_contract(scratch.path()).error().fault == Fault::unavailable);
  REQUIRE(write_file(scratch.path() / "x.bin", std::string(15, 'a')).has_value());
  CHECK(read_contract(scratch.path()).error().fault == Fault::malformed);
  REQUIRE(write_file(scratch.path() / "x.bin", std::string(16, 'a')).has_value());
  auto contract = read_contract(scratch.path());
  REQUIRE(contract.has_value());
  Digest before = contract->identity();
  REQUIRE(write_file(scratch.path() / "x.bin", std::string(16, 'b')).has_value());
  CHECK_FALSE(read_contract(scratch.path())->identity() == before);
}

}  // namespace
}  // namespace lathe
