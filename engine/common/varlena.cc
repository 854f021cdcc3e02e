#include "engine/common/varlena.h"

namespace engine {
namespace {

Status Damaged(const char* what) { return Status(env::Code::kCorrupted, what); }

}  // namespace

Result<Varlena> ParseVarlena(std::string_view bytes) {
  if (bytes.empty()) return Damaged("varlena header beyond the end");
  Varlena v;
  v.form = VarlenaFormOf(bytes.data());
  uint32_t header = VARHDRSZ;
  switch (v.form) {
    case VarlenaForm::k1B:
      header = VARHDRSZ_SHORT;
      break;
    case VarlenaForm::k1BE:
      header = VARHDRSZ_EXTERNAL;
      break;
    case VarlenaForm::k4BC:
      header = VARHDRSZ_COMPRESSED;
      break;
    case VarlenaForm::k4BU:
      break;
  }
  if (bytes.size() < header) return Damaged("varlena header beyond the end");
  v.size = VarsizeAny(bytes.data());
  if (v.size < header) return Damaged("varlena with an impossible length");
  if (v.size > bytes.size()) return Damaged("varlena beyond the end");
  v.payload = bytes.substr(header, v.size - header);
  if (v.form == VarlenaForm::k4BC) {
    uint32_t tcinfo = VarlenaLoad32(bytes.data() + VARHDRSZ);
    v.raw_size = tcinfo & VARLENA_EXTSIZE_MASK;
    v.method = static_cast<uint8_t>(tcinfo >> VARLENA_EXTSIZE_BITS);
  }
  return v;
}

char* WriteVarlena(char* out, std::string_view payload, bool packed) {
  SIM_CHECK(payload.size() < VARLENA_EXTSIZE_MASK - VARHDRSZ);
  uint32_t size = VarlenaSize(payload.size(), packed);
  if (packed && VarlenaFits1B(payload.size())) {
    SetVarsize1B(out, size);
  } else {
    SetVarsize4B(out, size);
  }
  if (!payload.empty()) {
    std::memcpy(out + (size - payload.size()), payload.data(), payload.size());
  }
  return out + size;
}

std::string MakeCompressedVarlena(std::string_view compressed,
                                  uint32_t raw_size, uint8_t method) {
  std::string out(VARHDRSZ_COMPRESSED, '\0');
  out.append(compressed);
  SetVarsize4BC(out.data(), static_cast<uint32_t>(out.size()), raw_size,
                method);
  return out;
}

char* WriteToastPointer(char* out, const varatt_external& pointer) {
  out[0] = 1;
  out[1] = static_cast<char>(VARTAG_ONDISK);
  std::memcpy(out + VARHDRSZ_EXTERNAL, &pointer, sizeof pointer);
  return out + TOAST_POINTER_SIZE;
}

}  // namespace engine
