// Attribution: may the node refuse?
//
// A refusal (a statement that fails because of what is on disk, a table that a
// quiet node cannot read) is justified if it names a page that lies in the
// blast radius of an injected fault and that the log cannot rebuild: no
// committed row lives there and no surviving record touches it. Any other
// refusal is a false alarm, which breaks a promise as a wrong answer does.
#ifndef MUSTH_PROPERTIES_ATTRIBUTION_H_
#define MUSTH_PROPERTIES_ATTRIBUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "properties/blast_radius.h"
#include "properties/model.h"
#include "properties/wal_coverage.h"
#include "sim/disk.h"
#include "sim/env/status.h"

namespace properties {

// SQLSTATEs that speak of the disk and not of the statement: class XX.
bool RefusesForDamage(const env::Status& status);

class Attribution {
 public:
  struct Answer {
    // Faults that justify it, by id. Empty: nothing does, see objection.
    std::vector<uint64_t> faults;
    std::string objection;  // "it holds 2 committed rows"

    bool justified() const { return !faults.empty(); }
  };

  // Both outlive this.
  Attribution(const Model* model, const WalCoverage* coverage)
      : model_(model), coverage_(coverage) {}

  // disk may be null: then nothing was injected.
  Answer OfPage(const PageRef& page, const sim::Disk* disk) const;
  Answer OfRefusal(const env::Status& status, const sim::Disk* disk) const;

 private:
  const Model* model_;
  const WalCoverage* coverage_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_ATTRIBUTION_H_
