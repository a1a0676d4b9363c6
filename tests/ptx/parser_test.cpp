// Whole files and single spellings, read and printed.

#include "tests/ptx/sample_files.h"

#include <catch2/catch.hpp>

namespace lathe::ptx {
namespace {

const Instruction& only(const Parsed& parsed) {
  for (const Error& error : parsed.errors)
    FAIL(error.place.line << ":" << error.place.column << " " << error.what);
  REQUIRE(parsed.module.functions.size() == 1);
  REQUIRE(parsed.module.functions[0].instructions.size() == 1);
  return parsed.module.functions[0].instructions[0];
}

void accepts(const std::string& body) {
  Parsed parsed = parse_body(body);
  for (const Error& error : parsed.errors) {
    INFO(body << ": " << error.place.line << ":" << error.place.column << " " << error.what);
    CHECK(parsed.errors.empty());
  }
}

void refuses(const std::string& body) {
  INFO(body);
  CHECK_FALSE(parse_body(body).errors.empty());
}

TEST_CASE("every shipped PTX file parses and prints the same bytes") {
  std::vector<std::filesystem::path> paths = shipped_ptx();
  CHECK_FALSE(paths.empty());
  for (const std::filesystem::path& path : paths) {
    std::string text = slurp(path);
    Parsed parsed = parse(text, path.filename());
    INFO(path.string());
    for (const Error& error : parsed.errors)
      FAIL(error.place.line << ":" << error.place.column << " " << error.what);
    CHECK(print(parsed.module) == text);
    CHECK_FALSE(parsed.module.functions.empty());
  }
}

TEST_CASE("the ranges of statements cover a shipped body but for blanks and comments") {
  for (const std::filesystem::path& path : shipped_ptx()) {
    Parsed parsed = parse(slurp(path), path.filename());
    const std::string& text = *parsed.module.text;
    for (const Function& function : parsed.module.functions) {
      std::uint32_t at = function.body.begin + 1;
      bool clean = true;
      auto blank = [&](std::uint32_t begin, std::uint32_t end) {
        bool comment = false;
        for (; begin < end; ++begin) {
          if (!comment && text.compare(begin, 2, "/*") == 0) begin = text.find("*/", begin) + 2;
          if (text.compare(begin, 2, "//") == 0) comment = true;
          if (text[begin] == '\n') comment = false;
          clean &= comment || std::isspace(static_cast<unsigned char>(text[begin])) ||
                   text[begin] == ';';
        }
      };
      for (const Statement& statement : function.statements) {
        blank(at, statement.span.begin);
        at = std::max(at, statement.span.end);
      }
      blank(at, function.body.end - 1);
      INFO(path.string() << " " << function.name);
      CHECK(clean);
    }
  }
}

TEST_CASE("the head of a file is read whatever its version") {
  Parsed parsed = parse(".version 1.0\n.target sm_10, debug\n.address_size 32\n", "a.ptx");
  CHECK(parsed.errors.empty());
  CHECK(parsed.module.version == "1.0");
  CHECK(parsed.module.target == std::vector<std::string_view>{"sm_10", "debug"});
  CHECK(parsed.module.address_size == 32);
  CHECK(parse(".version 99.9\n.target sm_999z\n", "a.ptx").errors.empty());
}

TEST_CASE("a file without a version or target is refused") {
  CHECK(parse("", "a.ptx").errors.size() == 2);
  CHECK(parse(".target sm_90a\n", "a.ptx").errors.size() == 1);
  CHECK(parse(".version 8.7\n", "a.ptx").errors.size() == 1);
}

TEST_CASE("an instruction keeps opcode, modifiers and operands as written") {
  Parsed parsed = parse_body("ld.global.L1::evict_last.v2.b32 {%r1, %r2}, [%rd1+-16];");
  const Instruction& ld = only(parsed);
  CHECK(ld.opcode == "ld");
  CHECK(ld.modifiers == std::vector<std::string_view>{"global", "L1::evict_last", "v2", "b32"});
  REQUIRE(ld.operands.size() == 2);
  CHECK(ld.operands[0].kind == Operand::Kind::vector);
  REQUIRE(ld.operands[0].parts.size() == 2);
  CHECK(ld.operands[0].parts[1].text == "%r2");
  CHECK(ld.operands[1].kind == Operand::Kind::address);
  CHECK(ld.operands[1].parts[0].text == "%rd1");
  CHECK(ld.operands[1].offset == -16);
  CHECK(ld.span.line == 6);
  CHECK(ld.span.column == 1);
}

TEST_CASE("a guard is read with its sign") {
  Parsed parsed = parse_body("@!%p1 bra $L__BB0_1;");
  const Instruction& bra = only(parsed);
  REQUIRE(bra.guard);
  CHECK(bra.guard->negated);
  CHECK(bra.guard->predicate == "%p1");
  CHECK(bra.operands[0].text == "$L__BB0_1");
  Parsed plain = parse_body("@p bra.uni L;");
  CHECK_FALSE(only(plain).guard->negated);
}

TEST_CASE("numbers give their bits") {
  auto bits = [](const std::string& number) {
    Parsed parsed = parse_body("mov.b64 %rd1, " + number + ";");
    return only(parsed).operands[1].bits;
  };
  CHECK(bits("12") == 12);
  CHECK(bits("-3") == static_cast<std::uint64_t>(-3));
  CHECK(bits("0x1F") == 0x1F);
  CHECK(bits("0U") == 0);
  CHECK(bits("4294967295U") == 4294967295u);
  CHECK(bits("0b101") == 5);
  CHECK(bits("017") == 15);
  CHECK(bits("18446744073709551615") == ~0ull);
  CHECK(bits("0f3F800000") == 0x3F800000);
  CHECK(bits("0d3FF0000000000000") == 0x3FF0000000000000);
  CHECK(bits("1.0") == 0x3FF0000000000000);
  CHECK(bits("-1.5e0") == 0xBFF8000000000000);
  CHECK(bits("(1+2)*4") == 12);
  CHECK(bits("1<<4|1") == 17);
  CHECK(bits("10-2-3") == 5);
}

TEST_CASE("a number that is none is refused") {
  for (const char* number : {"0f3F80", "0d3F800000", "0x", "12abc", "18446744073709551616", "1..5",
                             "08", "1/0", "-", "0xFFFFFFFFFFFFFFFFF", "1.0+2"})
    refuses("mov.b64 %rd1, " + std::string(number) + ";");
}

TEST_CASE("hand-written spellings are read") {
  for (const char* body :
       {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, "
        "{%r2, %r3}], [%r4];",
        "setp.lt.f32 %p1|%p2, %f1, %f2;",
        "atom.global.add.u32 _, [%rd1], 1;",
        "mov.b32 {%rs1, _}, %r1;",
        "mov.u32 %r1, %tid.x;",
        "mov.u32 %r1, global_smem+16;",
        "mov.u64 %rd1, table[3];",
        "mov.u32 %v1.x, %v0.w;",
        "ld.shared.b32 %r1, [global_smem+16];",
        "ld.shared.b32 %r1, [global_smem+4*4+1];",
        "ld.shared.v1.b32 {%r1}, [%r2];",
        "st.shared.b32 [16], {%r1};",
        "bar.sync 0, 128;",
        "selp.b32 %r1, %r2, %r3, !%p1;",
        "ret;",
        "and.pred p,q,!r;",
        "ld .global .u32 %r1,[%rd1];",
        "call.uni (retval0), f, (param0, param1);",
        "call (r), %rd1, (a), prototype_0;",
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;",
        "ld.global.u32 %r1, [%rd1].unified;",
        "prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);",
        "ts: .branchtargets $L1, $L2;",
        "{ .reg .pred p; @p ret; }",
        "$L__BB0_1: bra $L__BB0_1;",
        ".reg .b32 %r<100>, x, y;",
        ".reg .v4 .b32 quad;",
        ".local .align 16 .b8 depot[1024];",
        ".shared .align 16 .b8 smem[4][8];",
        ".param .b64 retval0;",
        ".pragma \"nounroll\";",
        ".loc 1 20 5",
        ".loc\t1 30 7, function_name $L__info+12, inlined_at 1 3 4",
        ";;",
        "/* a */ add.s32 %r1, %r1, /* b // c */ 1; // d",
        "vadd.u32.u32.u32 %r1, %r2.b0, 1;",
        "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r1}, [%r2];"})
    accepts(body);
}

TEST_CASE("spellings that miss by little are refused") {
  for (const char* body : {"add.f32 %f1, %f2, %f3",
                           "add.f32 %f1 %f2, %f3;",
                           "add.f32 %f1,, %f3;",
                           "ld.global.b32 %r1, [%rd1;",
                           "ld.global.b32 %r1, [];",
                           "ld.global.b32 %r1, [%rd1+%rd2];",
                           "mov.b32 {%r1, %r2, %r3;",
                           "@ add.f32 %f1, %f2, %f3;",
                           "@!!%p1 ret;",
                           "@%p1 ;",
                           "add. %r1, %r2;",
                           "%r1 = 3;",
                           ".reg .b33 %r<3>;",
                           ".reg .b32 %r<0>;",
                           ".reg .b32 %r<3;",
                           ".shared .b8 s[-1];",
                           ".align 3 .b8 x;",
                           "{ ret; ",
                           "ret; }",
                           "/* open",
                           "mov.b32 %r1, \"",
                           ".nonsense 3;",
                           ".shared .align 3 .b8 x;",
                           "setp.lt.f32 %p1|, %f1, %f2;",
                           "mov.u32 %r1, #;",
                           "mov.u64 %rd1, table[];",
                           "mov.u64 %rd1, table[1;",
                           ".reg .v3 .b32 v;",
                           "call (a, f;",
                           "selp.b32 %r1, %r2, %r3, !;",
                           "mov.b32 %r1, {{{{{{{1}}}}}}};"})
    refuses(body);
}

TEST_CASE("directives stand between parameters and body") {
  Parsed parsed = parse(
      ".version 8.7\n.target sm_90a\n.extern .shared .align 16 .b8 smem[];\n"
      ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 64 .b8 m[128])\n"
      ".reqntid 128, 1, 1\n.maxnreg 64\n.minnctapersm 2\n.explicitcluster\n.reqnctapercluster 2\n"
      "{ ret; }\n",
      "k.ptx");
  REQUIRE(parsed.errors.empty());
  const Function& k = parsed.module.functions[0];
  REQUIRE(k.directives.size() == 5);
  CHECK(k.directives[0].text == ".reqntid 128, 1, 1");
  REQUIRE(k.parameters.size() == 2);
  CHECK(k.parameters[0].name == "a");
  const ptx::Span& span = k.parameters[0].span;
  CHECK(parsed.module.text->substr(span.begin, span.end - span.begin) ==
        ".param .u64 .ptr .global .align 16 a");
  CHECK(k.parameters[0].bytes == 8);
  CHECK(k.parameters[0].align == 8);
  CHECK(k.parameters[1].bytes == 128);
  CHECK(k.parameters[1].align == 64);
  REQUIRE(parsed.module.variables.size() == 1);
  CHECK(parsed.module.variables[0].bytes == 0);
  CHECK(parsed.module.variables[0].space == "shared");
  CHECK(parsed.module.find_entry("k") == &k);
  CHECK(parsed.module.find_entry("j") == nullptr);
}

TEST_CASE("initial values become bytes") {
  Parsed parsed = parse(
      ".version 8.7\n.target sm_90a\n.global .align 4 .u32 a[4] = {1, 0x203};\n"
      ".const .f32 b = 0f3F800000;\n.global .f32 c[2] = {1.0, -2};\n.global .u64 d = a;\n"
      ".global .b8 e[2][2] = {{1, 2}, {3, 4}};\n",
      "v.ptx");
  REQUIRE(parsed.errors.empty());
  const auto& variables = parsed.module.variables;
  CHECK(variables[0].bytes == 16);
  CHECK(variables[0].initial == std::vector<std::uint8_t>{1, 0, 0, 0, 3, 2, 0, 0});
  CHECK(variables[1].initial == std::vector<std::uint8_t>{0, 0, 0x80, 0x3F});
  CHECK(variables[2].initial[3] == 0x3F);
  CHECK(variables[3].relocated);
  CHECK(variables[4].initial == std::vector<std::uint8_t>{1, 2, 3, 4});
}

TEST_CASE("more initial values than room are refused") {
  CHECK_FALSE(
      parse(".version 8.7\n.target sm_90a\n.global .b8 e[2] = {1,2,3};\n", "v.ptx").errors.empty());
}

TEST_CASE("a function may be declared often, and is defined once") {
  auto read = [](const std::string& functions) {
    return parse(".version 8.7\n.target sm_90a\n" + functions, "f.ptx").errors;
  };
  CHECK(read(".func f;\n.func f;\n.func f { ret; }\n.entry g() { ret; }\n").empty());
  auto errors = read(".func f { ret; }\n.entry g() { ret; }\n.entry g() { ret; }\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].what == "`g` is defined again: line 4 has it already");
  CHECK(errors[0].place.line == 5);
}

TEST_CASE("functions, declarations and debug sections are read") {
  Parsed parsed = parse(
      ".version 8.7\n.target sm_90a\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param "
      ".b64 b);\n.func (.reg .f32 r) f(.reg .f32 x) .noreturn { ret; }\n"
      ".file 1 \"a.py\", 12, 34\n.section .debug_abbrev\n{\n.b8 1, 2 // x\n.b32 $L+1\n{ }\n}\n",
      "f.ptx");
  for (const Error& error : parsed.errors) FAIL(error.what);
  REQUIRE(parsed.module.functions.size() == 2);
  CHECK_FALSE(parsed.module.functions[0].defined);
  CHECK(parsed.module.functions[0].results.size() == 1);
  CHECK(parsed.module.functions[1].defined);
  CHECK(parsed.module.directives.size() == 2);
}

TEST_CASE("statements keep the order of the file") {
  Parsed parsed = parse_body(".reg .b32 %r<4>;\nL: { add.s32 %r1, %r1, 1; }\n.loc 1 2 3\nbra L;");
  REQUIRE(parsed.errors.empty());
  std::vector<Statement::Kind> kinds;
  for (const Statement& statement : parsed.module.functions[0].statements)
    kinds.push_back(statement.kind);
  using Kind = Statement::Kind;
  CHECK(kinds == std::vector<Kind>{Kind::registers, Kind::label, Kind::open_scope,
                                   Kind::instruction, Kind::close_scope, Kind::directive,
                                   Kind::instruction});
}

TEST_CASE("a complaint names line, column, what was found and what would do") {
  Parsed parsed = parse_body("add.f32 %f1, %f2, %f3;\n  ld.global.b32 %r1, [%rd1;\nret;");
  REQUIRE(parsed.errors.size() == 1);
  CHECK(parsed.errors[0].place.file == "k.ptx");
  CHECK(parsed.errors[0].place.line == 7);
  CHECK(parsed.errors[0].place.column == 27);
  CHECK(parsed.errors[0].what.find("`;`") != std::string::npos);
  CHECK(parsed.errors[0].what.find("`]`") != std::string::npos);
  CHECK_FALSE(parsed.errors[0].remedy.empty());
}

TEST_CASE("reading goes on after a complaint, twenty times at most") {
  Parsed three = parse_body("add %r1 %r2;\nret;\nmul [ , 1;\nsub.s32 %r1, %r2, %r3;\nld [;");
  CHECK(three.errors.size() == 3);
  CHECK(three.module.functions[0].instructions.size() == 2);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "add %r1 %r2;\n";
  CHECK(parse_body(many).errors.size() == 20);
}

}  // namespace
}  // namespace lathe::ptx
