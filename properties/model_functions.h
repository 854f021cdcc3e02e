// Scalar functions of the reference model.
#ifndef MUSTH_PROPERTIES_MODEL_FUNCTIONS_H_
#define MUSTH_PROPERTIES_MODEL_FUNCTIONS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "properties/model_types.h"
#include "sim/env/status.h"

namespace properties {

struct ModelFunction {
  const char* name;
  std::vector<uint32_t> args;  // kInt8Type takes any integer
  uint32_t result;             // kInt8Type: the widest of the arguments
};

// The number of the function that takes arguments of these types (text-like
// ones, and unknown literals, count as text); nothing if the model has none.
std::optional<uint8_t> FindModelFunction(std::string_view name,
                                         const std::vector<uint32_t>& types);
const ModelFunction& ModelFunctionAt(uint8_t number);
// Requires: no argument is null. result_type for the range of integers.
env::Result<Value> CallModelFunction(uint8_t number, uint32_t result_type,
                                     const std::vector<Value>& args);
// LIKE with its escape character \. Errors: not modelled if the pattern ends
// in the escape character.
env::Result<bool> MatchesLike(std::string_view text, std::string_view pattern);
// now() and its like: the model cannot know the value.
bool IsTimeFunction(std::string_view name);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_MODEL_FUNCTIONS_H_
