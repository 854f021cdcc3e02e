// TestRecord: a WAL record with blocks, built byte by byte, for tests of
// judges. Like TestCluster it shares no code with engine or decoders.
#ifndef MUSTH_PROPERTIES_DECODERS_TEST_RECORD_H_
#define MUSTH_PROPERTIES_DECODERS_TEST_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "properties/decoders/bytes.h"
#include "properties/decoders/test_cluster.h"

namespace properties {

class TestRecord {
 public:
  TestRecord(uint8_t rmid, uint8_t info, uint32_t xid, std::string main_data)
      : rmid_(rmid), info_(info), xid_(xid), main_(std::move(main_data)) {}

  // A block of base/5/rel. image: a whole page, logged without its hole.
  TestRecord& Block(uint8_t id, uint32_t rel, uint32_t block,
                    std::string_view data, bool init = false,
                    std::string_view image = {}) {
    uint8_t flags = 0;
    if (!data.empty()) flags |= 0x20;
    if (init) flags |= 0x40;
    if (!image.empty()) flags |= 0x10;
    Put(&headers_, id);
    Put(&headers_, flags);
    Put(&headers_, static_cast<uint16_t>(data.size()));
    if (!image.empty()) PutImage(image);
    Put(&headers_, uint32_t{1663});
    Put(&headers_, uint32_t{5});
    Put(&headers_, rel);
    Put(&headers_, block);
    payload_ += data;
    return *this;
  }

  std::string Bytes() const {
    std::string record(24, '\0');
    record += headers_;
    if (!main_.empty()) {
      record += static_cast<char>(255);
      record += static_cast<char>(main_.size());
    }
    record += payload_ + main_;
    PokeField(&record, 0, static_cast<uint32_t>(record.size()));
    PokeField(&record, 4, xid_);
    PokeField(&record, 16, info_);
    PokeField(&record, 17, rmid_);
    return record;
  }

 private:
  template <typename T>
  static void Put(std::string* out, T value) {
    out->append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void PutImage(std::string_view page) {
    auto lower = LoadField<uint16_t>(page, 12);
    auto upper = LoadField<uint16_t>(page, 14);
    Put(&headers_, static_cast<uint16_t>(kPageBytes - (upper - lower)));
    Put(&headers_, lower);
    Put(&headers_, uint8_t{0x03});  // a hole, to be applied
    payload_ += page.substr(0, lower);
    payload_ += page.substr(upper);
  }

  uint8_t rmid_;
  uint8_t info_;
  uint32_t xid_;
  std::string main_;
  std::string headers_;
  std::string payload_;
};

// Main data of heap records.
inline std::string InsertMain(uint16_t offset) {
  std::string main(3, '\0');
  PokeField(&main, 0, offset);
  return main;
}
inline std::string DeleteMain(uint32_t xmax, uint16_t offset,
                              uint8_t infobits) {
  std::string main(8, '\0');
  PokeField(&main, 0, xmax);
  PokeField(&main, 4, offset);
  PokeField(&main, 6, infobits);
  return main;
}
inline std::string UpdateMain(uint32_t old_xmax, uint16_t old_offset,
                              uint16_t new_offset, uint8_t flags = 0) {
  std::string main = DeleteMain(old_xmax, old_offset, 0);
  PokeField(&main, 7, flags);
  main.append(6, '\0');
  PokeField(&main, 12, new_offset);
  return main;
}
// A tuple as records carry it, of a body (from t_infomask2 on) with the given
// bits of t_infomask.
inline std::string LoggedTuple(std::string body, uint16_t infomask) {
  PokeField(&body, 2, infomask);
  return body;
}

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_TEST_RECORD_H_
