#include "ptx/order_clock.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace lathe::ptx {
namespace {

constexpr std::uint32_t for_ever = std::numeric_limits<std::uint32_t>::max();

template <class Each>
void each_lane(Mask mask, Each&& each) {
  for (; mask != 0; mask &= mask - 1) each(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

}  // namespace

bool OrderClocks::Release::has_view(const ViewPointer& view) const {
  return std::find(views.begin(), views.end(), view) != views.end();
}

void OrderClocks::reset(std::uint32_t warps, std::uint32_t threads) {
  together_.clear();
  warps_ = warps;
  threads_ = warps * lane_count;
  agents_.clear();
  clock_.assign(std::size_t{warps} * lane_count, 1);
  auto view = std::make_shared<View>();
  view->clock.assign(clock_.size(), 0);
  // Lanes that do not exist never access anything; they must not hold back the least.
  for (std::size_t i = threads; i < clock_.size(); ++i) view->clock[i] = for_ever;
  view->least.assign(warps, 0);
  view_.assign(clock_.size(), view);
  near_.resize(clock_.size());
  for (std::uint32_t warp = 0; warp < warps; ++warp) {
    NearPointer near = near_of(*view, warp);
    std::fill_n(near_.begin() + warp * lane_count, lane_count, near);
  }
  proxy_fences_.clear();
  fences_.clear();
  barriers_.clear();
  tokens_.clear();
}

bool OrderClocks::comes_after(std::uint32_t warp, std::uint32_t lane,
                              const OrderStamp& stamp) const {
  if (stamp.warp == warp || stamp.lanes == 0) return unordered(warp, lane, stamp) == 0;
  const View& view = *view_[warp * lane_count + lane];
  if (stamp.warp >= view.least.size()) return false;
  auto first = static_cast<std::uint32_t>(std::countr_zero(stamp.lanes));
  return view.clock[stamp.warp * lane_count + first] >= stamp.clock &&
         unordered(warp, lane, stamp) == 0;
}

Mask OrderClocks::unordered(std::uint32_t warp, std::uint32_t lane, const OrderStamp& stamp) const {
  std::uint32_t thread = warp * lane_count + lane;
  const std::uint32_t* known = nullptr;
  Mask others = stamp.lanes;
  if (stamp.warp == warp) {
    others &= ~(Mask{1} << lane);
    const Near& near = *near_[thread];
    if (others == 0 || stamp.clock <= near.least) return 0;
    known = near.clock.data();
  } else {
    const View& view = *view_[thread];
    if (stamp.warp >= view.least.size()) return others;  // An agent made since.
    if (stamp.clock <= view.least[stamp.warp]) return 0;
    known = view.clock.data() + stamp.warp * lane_count;
  }
  Mask unknown = 0;
  each_lane(others, [&](std::uint32_t other) {
    if (known[other] < stamp.clock) unknown |= Mask{1} << other;
  });
  return unknown;
}

void OrderClocks::add_near(Release& into, std::uint32_t warp, const Near& near) {
  for (std::uint32_t i = 0; i < lane_count; ++i) {
    std::uint32_t& known = into.clock[warp * lane_count + i];
    if (near.clock[i] != for_ever) known = std::max(known, near.clock[i]);
  }
}

void OrderClocks::release(Release& into, std::uint32_t warp, Mask mask) {
  together_.clear();
  into.clock.resize(clock_.size(), 0);
  const Near* last = nullptr;
  each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t thread = warp * lane_count + lane;
    if (!into.has_view(view_[thread])) into.views.push_back(view_[thread]);
    if (const Near* near = near_[thread].get(); near != last) {
      last = near;
      add_near(into, warp, *near);
    }
    into.clock[thread] = std::max(into.clock[thread], clock_[thread]++);
  });
}

OrderClocks::ViewPointer OrderClocks::join(const Release& release, const ViewPointer& with) const {
  auto view = std::make_shared<View>();
  view->clock = release.clock;
  view->clock.resize(clock_.size(), 0);
  auto take = [&](const View& other) {
    for (std::size_t i = 0; i < other.clock.size(); ++i)
      view->clock[i] = std::max(view->clock[i], other.clock[i]);
  };
  for (const ViewPointer& other : release.views) take(*other);
  if (with && !release.has_view(with)) take(*with);
  view->least.assign(warps_, 0);
  for (std::uint32_t warp = 0; warp < warps_; ++warp)
    view->least[warp] = *std::min_element(view->clock.begin() + warp * lane_count,
                                          view->clock.begin() + (warp + 1) * lane_count);
  return view;
}

OrderClocks::NearPointer OrderClocks::near_of(const View& view, std::uint32_t warp) const {
  auto near = std::make_shared<Near>();
  std::copy_n(view.clock.begin() + warp * lane_count, lane_count, near->clock.begin());
  near->least = *std::min_element(near->clock.begin(), near->clock.end());
  return near;
}

void OrderClocks::acquire(const ViewPointer& view, std::uint32_t warp, Mask mask) {
  together_.clear();
  NearPointer near = near_of(*view, warp);
  each_lane(mask, [&](std::uint32_t lane) {
    view_[warp * lane_count + lane] = view;
    near_[warp * lane_count + lane] = near;
  });
}

const OrderClocks::Together* OrderClocks::together(std::uint32_t warp, Mask mask) {
  if (together_.empty()) together_.resize(warps_);
  Found& found = together_[warp];
  if (found.mask == 0 || (mask & ~found.mask) != 0) {
    std::uint32_t first = warp * lane_count + static_cast<std::uint32_t>(std::countr_zero(mask));
    found.mask = mask;
    found.alike = true;
    each_lane(mask, [&](std::uint32_t lane) {
      std::uint32_t thread = warp * lane_count + lane;
      found.alike = found.alike && clock_[thread] == clock_[first] &&
                    view_[thread] == view_[first] && near_[thread] == near_[first];
    });
    Together& together = found.together;
    together.warp_ = warp;
    together.near_ = near_[first]->least;
    together.warps_ = view_[first]->least.size();
    together.least_ = view_[first]->least.data();
  }
  return found.alike ? &found.together : nullptr;
}

void OrderClocks::barrier_arrive(unsigned id, std::uint32_t warp, Mask mask) {
  release(barriers_[id], warp, mask);
}

void OrderClocks::barrier_complete(unsigned id, std::span<const Mask> waiting) {
  // Whoever waits has arrived too, so its own knowledge is in the release.
  ViewPointer view = join(barriers_[id], nullptr);
  barriers_.erase(id);
  for (std::uint32_t warp = 0; warp < waiting.size(); ++warp)
    if (waiting[warp] != 0) acquire(view, warp, waiting[warp]);
}

void OrderClocks::warp_barrier(std::uint32_t warp, Mask mask) {
  together_.clear();
  auto near = std::make_shared<Near>();
  bool one_view = true;
  const ViewPointer& first = view_[warp * lane_count + std::countr_zero(mask)];
  each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t thread = warp * lane_count + lane;
    one_view &= view_[thread] == first;
    for (std::uint32_t i = 0; i < lane_count; ++i)
      near->clock[i] = std::max(near->clock[i], near_[thread]->clock[i]);
    near->clock[lane] = std::max(near->clock[lane], clock_[thread]);
  });
  if (!one_view) {
    Release all;
    release(all, warp, mask);
    acquire(join(all, nullptr), warp, mask);
    return;
  }
  near->least = *std::min_element(near->clock.begin(), near->clock.end());
  each_lane(mask, [&](std::uint32_t lane) {
    near_[warp * lane_count + lane] = near;
    ++clock_[warp * lane_count + lane];
  });
}

void OrderClocks::token_release(std::uint64_t token, std::uint64_t phase, std::uint32_t warp,
                                Mask mask) {
  release(tokens_[{token, phase}], warp, mask);
}

void OrderClocks::token_release_fenced(std::uint64_t token, std::uint64_t phase, std::uint32_t warp,
                                       Mask mask) {
  Release& into = tokens_[{token, phase}];
  into.clock.resize(clock_.size(), 0);
  each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t thread = warp * lane_count + lane;
    auto found = fences_.find(thread);
    if (found == fences_.end()) return;
    const Fence& fence = found->second;
    if (!into.has_view(fence.view)) into.views.push_back(fence.view);
    add_near(into, warp, *fence.near);
    into.clock[thread] = std::max(into.clock[thread], fence.clock - 1);
  });
}

void OrderClocks::token_acquire(std::uint64_t token, std::uint64_t phase, std::uint32_t warp,
                                Mask mask) {
  together_.clear();
  auto found = tokens_.find({token, phase});
  if (found == tokens_.end()) return;
  // Lanes that knew the same know the same afterwards.
  ViewPointer before;
  NearPointer near;
  each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t thread = warp * lane_count + lane;
    if (before && before == view_[thread] && near == near_[thread]) {
      std::uint32_t first = static_cast<std::uint32_t>(std::countr_zero(mask));
      view_[thread] = view_[warp * lane_count + first];
      near_[thread] = near_[warp * lane_count + first];
      return;
    }
    if (!before) before = view_[thread], near = near_[thread];
    Release all = found->second;
    for (std::uint32_t i = 0; i < lane_count; ++i)
      if (near_[thread]->clock[i] != for_ever)
        all.clock[warp * lane_count + i] =
            std::max(all.clock[warp * lane_count + i], near_[thread]->clock[i]);
    acquire(join(all, view_[thread]), warp, Mask{1} << lane);
  });
}

void OrderClocks::token_forget(std::uint64_t token) {
  std::erase_if(tokens_, [&](const auto& entry) { return entry.first.first == token; });
}

void OrderClocks::token_forget_before(std::uint64_t token, std::uint64_t phase) {
  tokens_.erase(tokens_.lower_bound({token, 0}), tokens_.lower_bound({token, phase}));
}

std::uint32_t OrderClocks::agent(std::uint64_t name) {
  auto [found, fresh] = agents_.try_emplace(name, 0);
  if (!fresh) return found->second;
  std::uint32_t number = threads_ + static_cast<std::uint32_t>(agents_.size()) - 1;
  if (number >= clock_.size()) {
    clock_.resize(clock_.size() + lane_count, 1);
    view_.resize(clock_.size());
    near_.resize(clock_.size());
    ++warps_;
    together_.clear();
  }
  return found->second = number;
}

void OrderClocks::agent_release(std::uint64_t token, std::uint64_t phase, std::uint32_t agent,
                                std::uint32_t clock) {
  Release& release = tokens_[{token, phase}];
  release.clock.resize(clock_.size(), 0);
  release.clock[agent] = std::max(release.clock[agent], clock);
}

void OrderClocks::agent_acquire(std::uint32_t warp, Mask mask, std::uint32_t agent,
                                std::uint32_t clock) {
  together_.clear();
  ViewPointer before, after;
  each_lane(mask, [&](std::uint32_t lane) {
    ViewPointer& view = view_[warp * lane_count + lane];
    if (view != before) {
      before = view;
      auto fresh = std::make_shared<View>(*view);
      fresh->clock.resize(clock_.size(), 0);
      fresh->least.resize(warps_, 0);
      fresh->clock[agent] = std::max(fresh->clock[agent], clock);
      after = fresh;
    }
    view = after;
  });
}

void OrderClocks::fence(std::uint32_t thread) {
  step(thread);
  fences_[thread] = {clock_[thread], view_[thread], near_[thread]};
}

void OrderClocks::proxy_fence(std::uint32_t thread, bool global) {
  step(thread);
  proxy_fences_[{thread, global}].push_back({clock_[thread], view_[thread], near_[thread]});
}

/// The last proxy fence of `thread` that `reader` knows of.
const OrderClocks::Fence* OrderClocks::last_fence(std::uint32_t thread, std::uint32_t reader,
                                                  bool global) const {
  auto found = proxy_fences_.find({thread, global});
  if (found == proxy_fences_.end()) return nullptr;
  auto after =
      std::upper_bound(found->second.begin(), found->second.end(), known(reader, thread),
                       [](std::uint32_t at, const Fence& fence) { return at < fence.clock; });
  return after == found->second.begin() ? nullptr : &*std::prev(after);
}

bool OrderClocks::fenced(std::uint32_t writer, std::uint32_t clock, std::uint32_t reader,
                         bool global) const {
  const Fence* fence = last_fence(writer, reader, global);
  if (fence != nullptr && fence->clock > clock) return true;
  if (writer == reader) return false;
  fence = last_fence(reader, reader, global);
  return fence != nullptr && known(fence->view, fence->near, reader, writer) >= clock;
}

std::uint32_t OrderClocks::known(std::uint32_t thread, std::uint32_t other) const {
  if (thread == other) return clock_[other];
  return known(view_[thread], near_[thread], thread, other);
}

std::uint32_t OrderClocks::known(const ViewPointer& view, const NearPointer& near,
                                 std::uint32_t thread, std::uint32_t other) {
  if (thread / lane_count == other / lane_count) return near->clock[other % lane_count];
  return other < view->clock.size() ? view->clock[other] : 0;
}

}  // namespace lathe::ptx
