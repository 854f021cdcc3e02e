// Golden files of properties/testdata, for tests.
#ifndef MUSTH_PROPERTIES_DECODERS_TESTDATA_H_
#define MUSTH_PROPERTIES_DECODERS_TESTDATA_H_

#include <fstream>
#include <iterator>
#include <string>

namespace properties {

// The file's bytes; empty if it cannot be read (tests check the length). Tests
// run in the workspace's root.
inline std::string ReadTestdata(const std::string& name) {
  std::ifstream in("properties/testdata/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in),
                     std::istreambuf_iterator<char>());
}

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_TESTDATA_H_
