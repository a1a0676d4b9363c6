// Groups of blocks, and which of them are translations of one another.

#include "verifier_node/translation.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include "base/digest.h"
#include "base/random.h"
#include "verifier_node/name_text.h"
#include "verifier_node/units.h"

namespace lathe::verifier_node {
namespace {

using ptx::Traces;
using ptx::field::Recipe;

constexpr std::uint64_t key_stream = 0x7A4E, group_stream = 0x6209, example_stream = 0xE8A3;
/// Fewer blocks than that are run in no time.
constexpr std::uint64_t blocks_least = 8;
/// A side is traced in so many parts, each by whoever is free, and noted as soon as it is.
constexpr std::uint64_t parts_most = 64;
/// Of one form: so many groups, or so many outputs, are enough for shadows to see a function's
/// pieces.
constexpr std::uint64_t groups_few = 2, groups_most = 32;
constexpr std::uint64_t outputs_many = std::uint64_t{1} << 17;
constexpr std::size_t spans_max = std::size_t{1} << 23;
constexpr std::uint64_t page_elements = 1024;
constexpr std::uint64_t symbolic_elements_max = std::uint64_t{1} << 28;

/// Nothing is known of what numbers stand for, nor of integers that stand for any.
bool is_data(const Recipe& recipe) { return recipe.output || recipe.computed || recipe.symbolic; }

bool traceable(const ptx::Program& program) {
  return std::none_of(
      program.operations.begin(), program.operations.end(), [&](const ptx::Operation& op) {
        bool reduces =
            op.effect == ptx::Effect::bulk_copy && program.async_forms[op.matrix].reduces;
        return op.effect == ptx::Effect::atomic || reduces ||
               op.effect == ptx::Effect::store_async || op.multicast;
      });
}

bool has_waits(const ptx::Program& program) {
  return std::any_of(program.operations.begin(), program.operations.end(),
                     [](const auto& op) { return op.effect == ptx::Effect::mbarrier; });
}

/// A side's blocks, each with what it is of and where.
struct Outline {
  std::vector<ptx::TraceKind> kinds;
  std::vector<std::uint32_t> kind_of;
  std::vector<std::uint64_t> bases;
};

class Tracer {
 public:
  Tracer(const Sides& sides, const std::vector<Recipe>& recipes, const TranslationRequest& request)
      : sides_(sides), recipes_(recipes), request_(request) {}

  std::optional<Outline> outline(Side side, BlockRange range, bool doubts) const {
    std::uint64_t count = std::clamp<std::uint64_t>(range.size(), 1, parts_most);
    std::vector<Traces> parts(count);
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> trapped{false};
    auto work = [&] {
      for (std::uint64_t i = next++; i < count && !trapped; i = next++) {
        parts[i] = part_of(
            side, doubts,
            {range.begin + range.size() * i / count, range.begin + range.size() * (i + 1) / count});
        if (parts[i].trap) trapped = true;
      }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t i = 1; i < std::min<std::uint64_t>(request_.threads, count); ++i)
      threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    return joined(parts);
  }

 private:
  /// A reference's may be kept, for all candidates.
  Traces part_of(Side side, bool doubts, BlockRange range) const {
    if (request_.kept == nullptr || side != Side::reference)
      return traced_part(side, doubts, range);
    Digest name = name_of_all(request_.reference, request_.known, request_.seed, request_.steps_max,
                              doubts, range.begin, range.end);
    if (std::shared_ptr<const Traces> known = request_.kept->traces(name)) return *known;
    auto traces = std::make_shared<const Traces>(traced_part(side, doubts, range));
    if (!traces->trap) request_.kept->keep(name, traces);
    return *traces;
  }
  /// Traced here, or by an earlier process of the same proof.
  Traces traced_part(Side side, bool doubts, BlockRange range) const {
    if (request_.journal == nullptr) return ptx::trace_blocks(request_of(side, range, doubts));
    Digest name = name_of_all(request_.question, std::string("trace"), side == Side::reference,
                              doubts, range.begin, range.end);
    if (std::optional<std::string> bytes = request_.journal->find(name))
      if (std::optional<Traces> known = read_unit<Traces>(*bytes)) return *std::move(known);
    Traces traces = ptx::trace_blocks(request_of(side, range, doubts));
    if (!traces.trap) request_.journal->note({name, {}, traces.steps, unit_bytes(traces)});
    return traces;
  }
  ptx::TraceRequest request_of(Side side, BlockRange range, bool doubts) const {
    ptx::TraceRequest out;
    out.program = &sides_.at(side).program;
    out.shape = sides_.shape(side);
    out.buffers = sides_.buffers;
    out.parameters = std::as_bytes(std::span(sides_.parameters));
    for (const Recipe& recipe : recipes_) {
      bool all = recipe.bytes.size() >= sides_.buffers[out.contents.size()].bytes;
      out.contents.push_back(is_data(recipe) || !all
                                 ? nullptr
                                 : reinterpret_cast<const std::byte*>(recipe.bytes.data()));
      out.changes.push_back(recipe.changes);
      out.element_bytes.push_back(std::max(1u, ptx::width_of(recipe.type) / 8));
    }
    out.doubts_waits = doubts;
    out.key = philox64(request_.seed, key_stream, 0);
    out.steps_max = request_.steps_max;
    out.begin = range.begin;
    out.end = range.end;
    return out;
  }
  static std::optional<Outline> joined(const std::vector<Traces>& parts) {
    Outline out;
    std::map<std::array<std::uint64_t, 2>, std::uint32_t> known;
    for (const Traces& part : parts) {
      if (part.trap) return std::nullopt;
      std::vector<std::uint32_t> names;
      for (const ptx::TraceKind& kind : part.kinds) {
        auto [found, fresh] =
            known.try_emplace(kind.name, static_cast<std::uint32_t>(out.kinds.size()));
        if (fresh) out.kinds.push_back(kind);
        names.push_back(found->second);
      }
      for (std::uint32_t kind : part.kind_of) out.kind_of.push_back(names[kind]);
      out.bases.insert(out.bases.end(), part.bases.begin(), part.bases.end());
    }
    return out;
  }

  const Sides& sides_;
  const std::vector<Recipe>& recipes_;
  const TranslationRequest& request_;
};

/// The blocks of one side as nodes, from `first` on.
struct SideNodes {
  Side side = Side::reference;
  BlockRange range;
  std::uint32_t first = 0;
  Outline outline;
  /// The candidate's blocks where each wait gives up once; otherwise none.
  std::optional<Outline> doubted;
};

struct Group {
  std::vector<std::uint32_t> nodes;  // Ascending: the reference's come first.
  std::uint64_t outputs = 0;
};

class Groups {
 public:
  Groups(std::vector<SideNodes> sides, const std::vector<Recipe>& recipes, const Contract& contract)
      : sides_(std::move(sides)),
        recipes_(recipes),
        contract_(contract),
        buffers_(recipes.size()) {}

  bool find();
  /// Groups of one form, in order of their first blocks.
  std::vector<std::vector<Group>> forms() const;
  std::uint64_t outputs() const { return outputs_; }
  Writers writers(std::size_t side) const;
  std::vector<std::uint32_t> kinds(std::size_t side) const;
  std::vector<std::uint32_t> numbers(std::size_t side) const;
  std::uint64_t block_of(std::uint32_t node) const {
    return side_of(node).range.begin + (node - side_of(node).first);
  }
  bool of_reference(std::uint32_t node) const { return &side_of(node) == &sides_[0]; }

 private:
  struct Span {
    std::uint32_t buffer = 0;
    std::uint64_t begin = 0, end = 0;
    std::uint32_t node = 0;
    bool of_reference = false, write = false;
  };

  const SideNodes& side_of(std::uint32_t node) const {
    return sides_[node < sides_[1].first ? 0 : 1];
  }
  std::uint64_t width_of(std::size_t buffer) const {
    return std::max(1u, ptx::width_of(recipes_[buffer].type) / 8);
  }
  bool compared(std::size_t buffer) const {
    Role role = contract_.tensors[buffer].role;
    return role == Role::output || role == Role::inout;
  }
  std::uint32_t root_of(std::uint32_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[root_of(a)] = root_of(b); }
  bool list_spans(std::vector<Span>& spans) const;
  void sweep(std::vector<Span>& spans);
  template <class Use>
  void each_outline(std::uint32_t node, Use use) const;
  std::vector<std::uint64_t> form_of(const Group& group) const;

  std::vector<SideNodes> sides_;
  const std::vector<Recipe>& recipes_;
  const Contract& contract_;
  std::size_t buffers_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint64_t> outputs_of_;  // By node.
  std::vector<Group> groups_;
  std::uint64_t outputs_ = 0;
};

bool Groups::list_spans(std::vector<Span>& spans) const {
  for (const SideNodes& side : sides_)
    for (std::uint32_t i = 0; i < side.outline.kind_of.size(); ++i) {
      const ptx::TraceKind& kind = side.outline.kinds[side.outline.kind_of[i]];
      for (const auto* ranges : {&kind.written, &kind.read})
        for (const ptx::TraceRange& range : *ranges) {
          std::uint64_t base = side.outline.bases[i * buffers_ + range.buffer];
          spans.push_back({range.buffer, base + static_cast<std::uint64_t>(range.begin),
                           base + static_cast<std::uint64_t>(range.end), side.first + i,
                           &side == &sides_[0], ranges == &kind.written});
        }
      if (spans.size() > spans_max) return false;
    }
  return true;
}

/// Joins whoever touches a common byte, and counts what the reference writes.
void Groups::sweep(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.buffer != b.buffer ? a.buffer < b.buffer : a.begin < b.begin;
  });
  std::uint32_t buffer = ~0u, last = 0;
  std::uint64_t end = 0, counted = 0;
  for (const Span& span : spans) {
    if (span.buffer != buffer) buffer = span.buffer, end = counted = 0;
    if (span.begin < end) join(span.node, last);
    if (span.end > end) end = span.end, last = span.node;
    if (!span.of_reference || !span.write || !compared(buffer)) continue;
    std::uint64_t from = std::max(span.begin, counted);
    std::uint64_t elements = span.end > from ? (span.end - from) / width_of(buffer) : 0;
    counted = std::max(counted, span.end);
    outputs_ += elements;
    outputs_of_[span.node] += elements;
  }
}

bool Groups::find() {
  std::size_t count = sides_[0].outline.kind_of.size() + sides_[1].outline.kind_of.size();
  parent_.resize(count);
  std::iota(parent_.begin(), parent_.end(), 0u);
  outputs_of_.resize(count);
  std::vector<Span> spans;
  if (!list_spans(spans)) return false;
  sweep(spans);
  std::map<std::uint32_t, std::size_t> numbers;
  for (std::uint32_t node = 0; node < count; ++node) {
    auto [found, fresh] = numbers.try_emplace(root_of(node), groups_.size());
    if (fresh) groups_.emplace_back();
    groups_[found->second].nodes.push_back(node);
    groups_[found->second].outputs += outputs_of_[node];
  }
  return true;
}

/// What a node is of, and its bases, as it runs undisturbed and as it does doubted.
template <class Use>
void Groups::each_outline(std::uint32_t node, Use use) const {
  const SideNodes& side = side_of(node);
  std::size_t i = node - side.first;
  use(side.outline.kind_of[i], &side.outline.bases[i * buffers_]);
  if (side.doubted) use(side.doubted->kind_of[i], &side.doubted->bases[i * buffers_]);
}

/// Its blocks' kinds and how far each is from the group's first place in each tensor.
std::vector<std::uint64_t> Groups::form_of(const Group& group) const {
  std::vector<std::uint64_t> least(buffers_, Traces::untouched);
  for (std::uint32_t node : group.nodes)
    each_outline(node, [&](std::uint32_t, const std::uint64_t* bases) {
      for (std::size_t b = 0; b < buffers_; ++b) least[b] = std::min(least[b], bases[b]);
    });
  std::vector<std::vector<std::uint64_t>> members;
  for (std::uint32_t node : group.nodes) {
    std::vector<std::uint64_t>& member = members.emplace_back();
    member.push_back(of_reference(node) ? 0 : 1);
    each_outline(node, [&](std::uint32_t kind, const std::uint64_t* bases) {
      member.push_back(kind);
      for (std::size_t b = 0; b < buffers_; ++b)
        member.push_back(bases[b] == Traces::untouched ? Traces::untouched : bases[b] - least[b]);
    });
  }
  std::sort(members.begin(), members.end());
  std::vector<std::uint64_t> form;
  for (const auto& member : members) form.insert(form.end(), member.begin(), member.end());
  return form;
}

std::vector<std::vector<Group>> Groups::forms() const {
  std::map<std::vector<std::uint64_t>, std::vector<Group>> forms;
  for (const Group& group : groups_) forms[form_of(group)].push_back(group);
  std::vector<std::vector<Group>> out;
  for (auto& [form, groups] : forms) out.push_back(std::move(groups));
  return out;
}

std::vector<std::uint32_t> Groups::kinds(std::size_t number) const {
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> out;
  const SideNodes& side = sides_[number];
  for (std::uint32_t i = 0; i < side.outline.kind_of.size(); ++i) {
    std::vector<std::uint32_t> kinds;
    each_outline(side.first + i,
                 [&](std::uint32_t kind, const std::uint64_t*) { kinds.push_back(kind); });
    out.push_back(numbers.try_emplace(std::move(kinds), static_cast<std::uint32_t>(numbers.size()))
                      .first->second);
  }
  return out;
}

std::vector<std::uint32_t> Groups::numbers(std::size_t number) const {
  std::vector<std::uint32_t> out(sides_[number].outline.kind_of.size());
  for (std::uint32_t group = 0; group < groups_.size(); ++group)
    for (std::uint32_t node : groups_[group].nodes)
      if (of_reference(node) == (number == 0)) out[node - sides_[number].first] = group;
  return out;
}

Writers Groups::writers(std::size_t number) const {
  Writers writers;
  const SideNodes& side = sides_[number];
  for (std::size_t i = 0; i < side.outline.kind_of.size(); ++i)
    for (const ptx::TraceRange& range : side.outline.kinds[side.outline.kind_of[i]].written) {
      std::uint64_t base = side.outline.bases[i * buffers_ + range.buffer];
      std::uint64_t each = page_elements * width_of(range.buffer);
      std::uint64_t first = (base + static_cast<std::uint64_t>(range.begin)) / each;
      std::uint64_t last = (base + static_cast<std::uint64_t>(range.end) - 1) / each;
      for (std::uint64_t page = first; page <= last; ++page) {
        auto& blocks = writers[{range.buffer, page}];
        std::uint64_t block = side.range.begin + i;
        if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
      }
    }
  return writers;
}

/// The first group, the last, and others as they are drawn.
std::vector<const Group*> chosen_of(const std::vector<Group>& groups, std::uint64_t form,
                                    std::uint64_t seed, std::uint64_t wanted) {
  std::set<std::size_t> chosen{0, groups.size() - 1};
  for (std::uint64_t i = 0; chosen.size() < std::min<std::uint64_t>(wanted, groups.size()); ++i) {
    std::uint64_t drawn = philox64(seed, group_stream + form, i);
    chosen.insert(i < 8 * wanted ? drawn % groups.size() : i - 8 * wanted);
  }
  std::vector<const Group*> out;
  for (std::size_t i : chosen) out.push_back(&groups[i]);
  return out;
}

void take_group(const Groups& groups, const Group& group, Translation::Blocks& into) {
  for (std::uint32_t node : group.nodes)
    (groups.of_reference(node) ? into.reference : into.candidate).push_back(groups.block_of(node));
}

using Forms = std::vector<std::vector<Group>>;

Translation::Blocks blocks_of(const Groups& groups, const Forms& forms, std::uint64_t seed,
                              bool many) {
  Translation::Blocks out;
  std::uint64_t form = 0;
  for (const std::vector<Group>& alike : forms) {
    std::uint64_t each = std::max<std::uint64_t>(1, alike.front().outputs);
    std::uint64_t wanted = std::clamp(outputs_many / each, groups_few, groups_most);
    for (const Group* group : chosen_of(alike, form++, seed, many ? wanted : groups_few))
      take_group(groups, *group, out);
  }
  std::sort(out.reference.begin(), out.reference.end());
  std::sort(out.candidate.begin(), out.candidate.end());
  return out;
}

std::vector<Translation::Blocks> examples_of(const Groups& groups, const Forms& forms,
                                             std::uint64_t seed) {
  std::vector<Translation::Blocks> out;
  for (const std::vector<Group>& alike : forms) {
    std::uint64_t drawn = philox64(seed, example_stream, out.size());
    take_group(groups, alike[drawn % alike.size()], out.emplace_back());
  }
  return out;
}

}  // namespace

std::optional<Translation> find_translation(const Sides& sides, const std::vector<Recipe>& recipes,
                                            const TranslationRequest& request) {
  std::uint64_t total = request.reference_blocks.size() + request.candidate_blocks.size();
  if (total < blocks_least) return std::nullopt;
  std::uint64_t symbolic = 0;
  for (const Recipe& recipe : recipes) symbolic += recipe.symbolic ? recipe.elements : 0;
  if (symbolic > symbolic_elements_max) return std::nullopt;
  for (Side side : {Side::reference, Side::candidate})
    if (!traceable(sides.at(side).program) || sides.shape(side).cluster_blocks() != 1)
      return std::nullopt;
  Tracer tracer(sides, recipes, request);
  std::vector<SideNodes> nodes(2);
  for (SideNodes& side : nodes) {
    bool reference = &side == nodes.data();
    side.side = reference ? Side::reference : Side::candidate;
    side.range = reference ? request.reference_blocks : request.candidate_blocks;
    side.first = reference ? 0 : static_cast<std::uint32_t>(request.reference_blocks.size());
    std::optional<Outline> outline = tracer.outline(side.side, side.range, false);
    if (!outline) return std::nullopt;
    side.outline = *std::move(outline);
    if (reference || !has_waits(sides.candidate.program)) continue;
    side.doubted = tracer.outline(side.side, side.range, true);
    if (!side.doubted) return std::nullopt;
  }
  Groups groups(std::move(nodes), recipes, *sides.contract);
  if (!groups.find()) return std::nullopt;
  Translation out;
  Forms forms = groups.forms();
  out.few = blocks_of(groups, forms, request.seed, false);
  out.many = blocks_of(groups, forms, request.seed, true);
  out.examples = examples_of(groups, forms, request.seed);
  // Where little is left out, nothing is.
  out.leaves_out = 4 * (out.few.reference.size() + out.few.candidate.size()) <= 3 * total;
  out.reference_kinds = groups.kinds(0);
  out.candidate_kinds = groups.kinds(1);
  out.reference_groups = groups.numbers(0);
  out.candidate_groups = groups.numbers(1);
  out.outputs = groups.outputs();
  out.reference_writers = groups.writers(0);
  out.candidate_writers = groups.writers(1);
  return out;
}

const Translation* Translations::of(const Sides& sides, const std::vector<Recipe>& recipes,
                                    const TranslationRequest& request) {
  std::string known_by;
  for (const Recipe& recipe : recipes) {
    known_by += is_data(recipe) ? 'd' : 'e';
    if (!is_data(recipe)) known_by += hex(sha256(recipe.bytes));
  }
  if (!known_ || known_by != known_by_) {
    TranslationRequest noted = request;
    noted.journal = journal_;
    noted.question = name_of_all(question_, known_by);
    noted.known = name_of_all(known_by);
    translation_ = find_translation(sides, recipes, noted);
    known_by_ = std::move(known_by);
    known_ = true;
  }
  return translation_ && translation_->leaves_out ? &*translation_ : nullptr;
}

}  // namespace lathe::verifier_node
