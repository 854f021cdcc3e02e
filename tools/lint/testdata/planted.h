// A planted violation: needs <string> and does not include it.
#ifndef MUSTH_TOOLS_LINT_TESTDATA_PLANTED_H_
#define MUSTH_TOOLS_LINT_TESTDATA_PLANTED_H_

inline std::string Planted() { return {}; }

#endif  // MUSTH_TOOLS_LINT_TESTDATA_PLANTED_H_
