// Accesses of lanes that stand alike, looked at once: most words are read and written in an order
// that the least of what a warp knows shows.

#include <algorithm>

#include "ptx/order.h"

namespace lathe::ptx {

/// A word or byte that was written before this access, and read before it too or only read by it,
/// as most are; false: to be looked at closely. Of a write, by one lane.
bool OrderObserver::touch_together(OrderCell& cell, const Touch& touch,
                                   const OrderClocks::Together& together) const {
  const Access& access = *touch.access;
  if (cell.bytes || cell.plain || cell.writer.under_way) return false;
  bool writes = access.kind != AccessKind::read;
  if (cell.writer.lanes == 0 ? !writes && access.space == Space::shared
                             : !together.after(cell.writer))
    return false;
  OrderStamp stamp = stamp_of(access, touch.lane);
  stamp.lanes = touch.lanes;
  OrderStamp& reader = cell.reader;
  bool read_before = reader.lanes == 0 || together.after(reader);
  if (writes) {
    auto before = [&](const OrderStamp& known) { return together.after(known); };
    if (!read_before ||
        (cell.has_readers() && !std::all_of(cell.readers->begin(), cell.readers->end(), before)))
      return false;
    cell.write(stamp);
    return true;
  }
  auto joins = [&](OrderStamp& known) {
    if (known.warp != stamp.warp || known.clock != stamp.clock) return false;
    known.lanes |= stamp.lanes;
    known.strong &= stamp.strong;
    return true;
  };
  if (reader.lanes != 0 && joins(reader)) return true;
  if (!cell.has_readers() && read_before && reader.strong >= stamp.strong) {
    reader = stamp;
    return true;
  }
  if (cell.has_readers() && std::any_of(cell.readers->begin(), cell.readers->end(), joins))
    return true;
  return read_beside(cell, touch, stamp, together);
}

/// A read beside reads of other warps that it does not come after.
bool OrderObserver::read_beside(OrderCell& cell, const Touch& touch, const OrderStamp& stamp,
                                const OrderClocks::Together& together) const {
  std::uint32_t warp = touch.access->warp;
  auto unclear = [&](const OrderStamp& known) {  // Each lane knows of its own accesses besides.
    return known.lanes != 0 && known.warp == warp && !together.after(known);
  };
  auto passed = [&](const OrderStamp& known) {
    if (known.lanes == 0) return true;
    return known.strong >= stamp.strong &&
           (together.after(known) || clocks_.comes_after(warp, touch.lane, known));
  };
  if (unclear(cell.reader)) return false;
  if (!cell.has_readers() && passed(cell.reader)) {
    cell.reader = stamp;
    return true;
  }
  if (!cell.readers) cell.readers = std::make_unique<std::vector<OrderStamp>>();
  if (std::any_of(cell.readers->begin(), cell.readers->end(), unclear)) return false;
  std::erase_if(*cell.readers, passed);
  if (passed(cell.reader))
    cell.reader = stamp;
  else
    cell.readers->push_back(stamp);
  return true;
}

}  // namespace lathe::ptx
