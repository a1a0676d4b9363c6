#include "pipeline/codec.h"

#include <algorithm>

#include "base/record.h"
#include "pipeline/records.h"

namespace lathe {
namespace {

/// What is not in the record's types: a number that names nothing.
Error no_such(const std::string& what) {
  return {Fault::malformed, "there is no such " + what, "", {}};
}

void collect_files(const std::vector<Tensor>& tensors, std::vector<wire::NamedBytes>& files) {
  for (const Tensor& tensor : tensors) {
    const auto* file = std::get_if<Values::File>(&tensor.values.kind);
    if (file == nullptr || file->bytes == nullptr) continue;
    bool known = std::any_of(files.begin(), files.end(),
                             [&](const auto& other) { return other.name == file->path; });
    if (!known) files.push_back({file->path, *file->bytes});
  }
}

Result<Done> place_files(std::vector<Tensor>& tensors, const std::vector<wire::NamedBytes>& files) {
  for (Tensor& tensor : tensors) {
    auto* file = std::get_if<Values::File>(&tensor.values.kind);
    if (file == nullptr) continue;
    for (const wire::NamedBytes& sent : files)
      if (sent.name == file->path) file->bytes = std::make_shared<const std::string>(sent.bytes);
    if (file->bytes == nullptr || file->bytes->size() != tensor.span_bytes())
      return Error{Fault::malformed, "the bytes of " + file->path + " did not come along", "", {}};
  }
  return Done{};
}

wire::Candidate to_wire(const Screened& screened) {
  const Contract& contract = *screened.contract;
  wire::Candidate candidate{
      print_contract(contract), contract.reference, screened.ptx, {}, screened.candidate};
  collect_files(contract.tensors, candidate.files);
  for (const Case& each : contract.cases) collect_files(each.tensors, candidate.files);
  return candidate;
}

wire::AssembledPart to_wire(const Assembled& assembled) {
  const Resources& r = assembled.resources;
  return {assembled.cubin,    assembled.assembler, r.registers,           r.spill_store_bytes,
          r.spill_load_bytes, r.stack_bytes,       r.static_shared_bytes, r.barriers};
}

Result<Screened> from_wire(wire::Candidate& candidate) {
  auto contract = parse_contract(candidate.contract, "contract.toml");
  if (!contract) return contract.error();
  contract->reference = std::move(candidate.reference);
  auto placed = place_files(contract->tensors, candidate.files);
  for (Case& each : contract->cases)
    if (placed) placed = place_files(each.tensors, candidate.files);
  if (!placed) return placed.error();
  ptx::Parsed parsed = ptx::parse(candidate.ptx, "candidate.ptx");
  if (!parsed.errors.empty()) return parsed.errors.front();
  Screened screened;
  screened.contract = std::make_shared<const Contract>(*std::move(contract));
  screened.ptx = std::move(candidate.ptx);
  screened.candidate = sha256(ptx::normal_form(parsed.module));
  screened.module = std::make_shared<const ptx::Module>(std::move(parsed.module));
  if (screened.candidate != candidate.candidate)
    return Error{Fault::malformed, "the candidate's digest is not that of its PTX", "", {}};
  return screened;
}

void take(Assembled& to, wire::AssembledPart& from) {
  to.cubin = std::move(from.cubin);
  to.assembler = std::move(from.assembler);
  to.resources = {from.registers,   from.spill_store_bytes,   from.spill_load_bytes,
                  from.stack_bytes, from.static_shared_bytes, from.barriers};
}

void take(Sanitized& to, wire::SanitizedPart& from) {
  to.checks = std::move(from.checks);
  to.blocks = from.blocks;
}

void take(Tested& to, wire::TestedPart& from) {
  to.inputs = std::move(from.inputs);
  to.elements_compared = from.elements_compared;
  to.difference_max = from.candidate_error_max;
  if (!from.wide) return;
  to.candidate_error_max = from.candidate_wide_error_max;
  to.reference_error_max = from.reference_error_max;
}

/// The candidate of a stage, to which `add` gives the stage's own parts.
template <class Stage, class Record, class Add>
Result<Stage> decode_stage(std::string_view bytes, Add add) {
  auto record = decode_record<Record>(bytes);
  if (!record) return record.error();
  auto screened = from_wire(record->candidate);
  if (!screened) return screened.error();
  Stage stage;
  static_cast<Screened&>(stage) = *std::move(screened);
  add(stage, *record);
  return stage;
}

}  // namespace

std::string encode(const Screened& screened) { return encode_record(to_wire(screened)); }

std::string encode(const Assembled& assembled) {
  return encode_record(
      wire::Assembled{to_wire(static_cast<const Screened&>(assembled)), to_wire(assembled)});
}

std::string encode(const Sanitized& sanitized) {
  return encode_record(wire::Sanitized{to_wire(static_cast<const Screened&>(sanitized)),
                                       to_wire(static_cast<const Assembled&>(sanitized)),
                                       {sanitized.checks, sanitized.blocks}});
}

std::string encode(const Tested& tested) {
  return encode_record(
      wire::Tested{to_wire(static_cast<const Screened&>(tested)),
                   to_wire(static_cast<const Assembled&>(tested)),
                   {tested.checks, tested.blocks},
                   {tested.inputs, tested.elements_compared, tested.difference_max,
                    tested.reference_error_max.value_or(0), tested.candidate_error_max.value_or(0),
                    tested.candidate_error_max.has_value()}});
}

std::string encode(const Proof& proof) { return encode_record(wire::Proof{proof}); }

std::string encode(const Timing& timing) {
  wire::Timing record{timing, {}};
  for (const auto& [name, value] : timing.counters) record.counters.push_back({name, value});
  return encode_record(record);
}

std::string encode(const Verdict& verdict) { return encode_record(wire::Verdict{verdict}); }

Result<Screened> decode_screened(std::string_view bytes) {
  auto record = decode_record<wire::Candidate>(bytes);
  if (!record) return record.error();
  return from_wire(*record);
}

Result<Assembled> decode_assembled(std::string_view bytes) {
  return decode_stage<Assembled, wire::Assembled>(
      bytes, [](Assembled& stage, wire::Assembled& record) { take(stage, record.assembled); });
}

Result<Sanitized> decode_sanitized(std::string_view bytes) {
  return decode_stage<Sanitized, wire::Sanitized>(
      bytes, [](Sanitized& stage, wire::Sanitized& record) {
        take(static_cast<Assembled&>(stage), record.assembled);
        take(stage, record.sanitized);
      });
}

Result<Tested> decode_tested(std::string_view bytes) {
  return decode_stage<Tested, wire::Tested>(bytes, [](Tested& stage, wire::Tested& record) {
    take(static_cast<Assembled&>(stage), record.assembled);
    take(static_cast<Sanitized&>(stage), record.sanitized);
    take(stage, record.tested);
  });
}

Result<Proof> decode_proof(std::string_view bytes) {
  auto record = decode_record<wire::Proof>(bytes);
  if (!record) return record.error();
  return std::move(record->proof);
}

Result<Timing> decode_timing(std::string_view bytes) {
  auto record = decode_record<wire::Timing>(bytes);
  if (!record) return record.error();
  for (wire::NamedNumber& counter : record->counters)
    record->timing.counters.emplace_back(std::move(counter.name), counter.value);
  return std::move(record->timing);
}

Result<Verdict> decode_verdict(std::string_view bytes) {
  auto record = decode_record<wire::Verdict>(bytes);
  if (!record) return record.error();
  Verdict& verdict = record->verdict;
  auto above = [](auto value, auto greatest) { return value > greatest; };
  if (verdict.gate < Gate::screen || above(verdict.gate, Gate::admit)) return no_such("gate");
  if (verdict.answer < Verdict::Answer::passed || above(verdict.answer, Verdict::Answer::undecided))
    return no_such("answer");
  if (above(verdict.reason_code, Reason::unmeasurable)) return no_such("reason");
  return std::move(verdict);
}

}  // namespace lathe
