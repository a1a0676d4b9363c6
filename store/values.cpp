#include "store/values.h"

#include "base/record.h"

namespace lathe::store {

template <class Value>
std::string encode_value(const Value& value) {
  return encode_record(value);
}

template <class Value>
Result<Value> decode_value(std::string_view bytes) {
  return decode_record<Value>(bytes);
}

#define LATHE_VALUE(Value)                         \
  template std::string encode_value(const Value&); \
  template Result<Value> decode_value<Value>(std::string_view);

LATHE_VALUE(ContractRecord)
LATHE_VALUE(CandidateRecord)
LATHE_VALUE(ProposalRecord)
LATHE_VALUE(VerdictRecord)
LATHE_VALUE(RoundRecord)
LATHE_VALUE(RunRecord)
LATHE_VALUE(FrontierRecord)
LATHE_VALUE(WorkRecord)
LATHE_VALUE(QueuedRecord)
LATHE_VALUE(LeaseRecord)
LATHE_VALUE(DoneRecord)
LATHE_VALUE(JournalRecord)
LATHE_VALUE(LedgerRecord)
LATHE_VALUE(PatternRecord)
LATHE_VALUE(EventRecord)
LATHE_VALUE(BlobRecord)
LATHE_VALUE(MetaRecord)
LATHE_VALUE(Mark)

#undef LATHE_VALUE

}  // namespace lathe::store
