// Dates and timestamps in ISO 8601 form, proleptic Gregorian calendar, UTC.
// Source: src/backend/utils/adt/{timestamp,date,datetime}.c.
// Differs: of the input formats only ISO 8601 and the words epoch, infinity
// and -infinity are understood.
#include <cctype>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/types.h"

namespace engine {
namespace {

constexpr int64_t kDaysToUnixEpoch = 10957;  // 1970-01-01 to 2000-01-01
constexpr int64_t kMicrosPerSecond = 1000000;
// The years that PostgreSQL's timestamp reaches.
constexpr int64_t kMaxYear = 294276;
constexpr int64_t kMaxDateYear = 5874897;

// Days from 2000-01-01 to a date of the proleptic Gregorian calendar.
int64_t DaysFromCivil(int64_t y, int64_t m, int64_t d) {
  y -= m <= 2 ? 1 : 0;
  int64_t era = (y >= 0 ? y : y - 399) / 400;
  int64_t yoe = y - era * 400;
  int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468 - kDaysToUnixEpoch;
}

struct Civil {
  int64_t year = 2000;
  int64_t month = 1;
  int64_t day = 1;
};

Civil CivilFromDays(int64_t days) {
  int64_t z = days + kDaysToUnixEpoch + 719468;
  int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  int64_t doe = z - era * 146097;
  int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  int64_t mp = (5 * doy + 2) / 153;
  Civil out;
  out.day = doy - (153 * mp + 2) / 5 + 1;
  out.month = mp < 10 ? mp + 3 : mp - 9;
  out.year = yoe + era * 400 + (out.month <= 2 ? 1 : 0);
  return out;
}

bool IsLeap(int64_t y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

int64_t DaysInMonth(int64_t y, int64_t m) {
  if (m == 2) return IsLeap(y) ? 29 : 28;
  return m == 4 || m == 6 || m == 9 || m == 11 ? 30 : 31;
}

// What an ISO 8601 text says.
struct Fields {
  Civil date;
  int64_t time_micros = 0;
  int64_t zone_seconds = 0;  // east of UTC
};

enum class ParseOutcome : uint8_t {
  kOk,
  kBadFormat,
  kOutOfRange,
  kMonthOrDay,  // out of range in any month: maybe the order is wrong
};

class DateTimeParser {
 public:
  explicit DateTimeParser(std::string_view text) : s_(text) {
    while (!s_.empty() && Space(s_.back())) s_.remove_suffix(1);
    SkipSpace();
  }

  std::string_view rest() const { return s_.substr(at_); }

  ParseOutcome Parse(Fields* out) {
    if (!Number(4, 7, &out->date.year) || !Take('-') ||
        !Number(1, 2, &out->date.month) || !Take('-') ||
        !Number(1, 2, &out->date.day)) {
      return ParseOutcome::kBadFormat;
    }
    if (at_ < s_.size() && (Peek() == 'T' || Peek() == 't' || Space(Peek()))) {
      ++at_;
      SkipSpace();
      if (IsDigit(Peek())) {
        ParseOutcome time = ParseTime(out);
        if (time != ParseOutcome::kOk) return time;
      }
    }
    if (!ParseEra(out) || at_ != s_.size()) return ParseOutcome::kBadFormat;
    return Check(*out);
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool Space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
  }
  char Peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (at_ < s_.size() && Space(s_[at_])) ++at_;
  }
  bool Number(size_t least, size_t most, int64_t* out) {
    size_t begin = at_;
    *out = 0;
    while (IsDigit(Peek()) && at_ - begin < most) {
      *out = *out * 10 + (s_[at_++] - '0');
    }
    return at_ - begin >= least && !IsDigit(Peek());
  }

  ParseOutcome ParseTime(Fields* out) {
    int64_t hour = 0;
    int64_t minute = 0;
    int64_t second = 0;
    int64_t micros = 0;
    if (!Number(1, 2, &hour) || !Take(':') || !Number(1, 2, &minute)) {
      return ParseOutcome::kBadFormat;
    }
    if (Take(':') && !Number(1, 2, &second)) return ParseOutcome::kBadFormat;
    if (Take('.')) micros = Fraction();
    if (minute > 59 || second > 60 || hour > 24 ||
        (hour == 24 && (minute > 0 || second > 0 || micros > 0))) {
      return ParseOutcome::kOutOfRange;
    }
    out->time_micros =
        ((hour * 60 + minute) * 60 + second) * kMicrosPerSecond + micros;
    SkipSpace();
    return ParseZone(out) ? ParseOutcome::kOk : ParseOutcome::kBadFormat;
  }

  // Microseconds, rounded to nearest.
  int64_t Fraction() {
    int64_t micros = 0;
    int digits = 0;
    bool round_up = false;
    for (; IsDigit(Peek()); ++at_, ++digits) {
      if (digits < 6) micros = micros * 10 + (Peek() - '0');
      if (digits == 6) round_up = Peek() >= '5';
    }
    for (; digits < 6; ++digits) micros *= 10;
    return micros + (round_up ? 1 : 0);
  }

  bool ParseZone(Fields* out) {
    if (Take('Z') || Take('z')) return true;
    if (s_.substr(at_, 3) == "UTC") {
      at_ += 3;
      return true;
    }
    bool east = Peek() == '+';
    if (!east && Peek() != '-') return true;
    ++at_;
    int64_t hours = 0;
    int64_t minutes = 0;
    if (!Number(1, 2, &hours)) return false;
    if (Take(':') && !Number(2, 2, &minutes)) return false;
    int64_t seconds = (hours * 60 + minutes) * 60;
    out->zone_seconds = east ? seconds : -seconds;
    return hours <= 15 && minutes <= 59;
  }

  bool ParseEra(Fields* out) {
    SkipSpace();
    if (s_.substr(at_) != "BC") return true;
    at_ += 2;
    out->date.year = 1 - out->date.year;
    return true;
  }

  static ParseOutcome Check(const Fields& f) {
    const Civil& d = f.date;
    if (d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31) {
      return ParseOutcome::kMonthOrDay;
    }
    return d.day > DaysInMonth(d.year, d.month) ? ParseOutcome::kOutOfRange
                                                : ParseOutcome::kOk;
  }

  std::string_view s_;
  size_t at_ = 0;
};

Status ParseError(ParseOutcome outcome, std::string_view type,
                  std::string_view text) {
  if (outcome != ParseOutcome::kBadFormat) {
    Status error = SqlError(ERRCODE_DATETIME_FIELD_OVERFLOW,
                            "date/time field value out of range: \"{}\"", text);
    if (outcome == ParseOutcome::kOutOfRange) return error;
    return std::move(error).WithHint(
        "Perhaps you need a different \"datestyle\" setting.");
  }
  return SqlError(ERRCODE_INVALID_DATETIME_FORMAT,
                  "invalid input syntax for type {}: \"{}\"", type, text);
}

void AppendDate(int64_t days, std::string* out, bool* bc) {
  Civil d = CivilFromDays(days);
  *bc = d.year <= 0;
  fmt::format_to(std::back_inserter(*out), "{:04}-{:02}-{:02}",
                 *bc ? 1 - d.year : d.year, d.month, d.day);
}

}  // namespace

Result<Datum> TimestampInput(std::string_view text, bool with_zone) {
  const char* type = with_zone ? "timestamp with time zone" : "timestamp";
  DateTimeParser parser(text);
  if (parser.rest() == "infinity") return Datum::Int(kTimestampInfinity);
  if (parser.rest() == "-infinity") return Datum::Int(kTimestampMinusInfinity);
  if (parser.rest() == "epoch") {
    return Datum::Int(-kDaysToUnixEpoch * kMicrosPerDay);
  }
  Fields f;
  ParseOutcome outcome = parser.Parse(&f);
  if (outcome != ParseOutcome::kOk) return ParseError(outcome, type, text);
  if (f.date.year < -4712 || f.date.year > kMaxYear) {
    return SqlError(ERRCODE_DATETIME_FIELD_OVERFLOW,
                    "timestamp out of range: \"{}\"", text);
  }
  int64_t days = DaysFromCivil(f.date.year, f.date.month, f.date.day);
  int64_t micros = days * kMicrosPerDay + f.time_micros;
  if (with_zone) micros -= f.zone_seconds * kMicrosPerSecond;
  return Datum::Int(micros);
}

Result<Datum> DateInput(std::string_view text) {
  DateTimeParser parser(text);
  if (parser.rest() == "infinity") return Datum::Int(kDateInfinity);
  if (parser.rest() == "-infinity") return Datum::Int(kDateMinusInfinity);
  if (parser.rest() == "epoch") return Datum::Int(-kDaysToUnixEpoch);
  Fields f;
  ParseOutcome outcome = parser.Parse(&f);
  if (outcome != ParseOutcome::kOk) return ParseError(outcome, "date", text);
  if (f.date.year < -4712 || f.date.year > kMaxDateYear) {
    return SqlError(ERRCODE_DATETIME_FIELD_OVERFLOW,
                    "date out of range: \"{}\"", text);
  }
  return Datum::Int(DaysFromCivil(f.date.year, f.date.month, f.date.day));
}

void TimestampOutput(int64_t micros, bool with_zone, std::string* out) {
  if (micros == kTimestampInfinity || micros == kTimestampMinusInfinity) {
    *out += micros > 0 ? "infinity" : "-infinity";
    return;
  }
  int64_t days = DaysOfTimestamp(micros);
  int64_t time = micros - days * kMicrosPerDay;
  bool bc = false;
  AppendDate(days, out, &bc);
  int64_t seconds = time / kMicrosPerSecond;
  int64_t fraction = time % kMicrosPerSecond;
  fmt::format_to(std::back_inserter(*out), " {:02}:{:02}:{:02}", seconds / 3600,
                 seconds / 60 % 60, seconds % 60);
  if (fraction != 0) {
    std::string digits = fmt::format("{:06}", fraction);
    digits.resize(digits.find_last_not_of('0') + 1);
    *out += "." + digits;
  }
  if (with_zone) *out += "+00";
  if (bc) *out += " BC";
}

int64_t DaysOfTimestamp(int64_t micros) {
  int64_t days = micros / kMicrosPerDay;
  return micros % kMicrosPerDay < 0 ? days - 1 : days;
}

void DateOutput(int64_t days, std::string* out) {
  if (days == kDateInfinity || days == kDateMinusInfinity) {
    *out += days > 0 ? "infinity" : "-infinity";
    return;
  }
  bool bc = false;
  AppendDate(days, out, &bc);
  if (bc) *out += " BC";
}

}  // namespace engine
