// Writes a simulated data directory to real files, for outside programs.
#ifndef MUSTH_PROPERTIES_EXPORT_H_
#define MUSTH_PROPERTIES_EXPORT_H_

#include <string>

#include "sim/disk.h"

namespace properties {

// Copies the visible files below `directory`, which is created. The disk is
// not changed: undetermined sectors are drawn in a frozen clone.
// Errors: kExists if the directory is not empty; I/O errors with the path.
env::Status ExportDisk(const sim::Disk& disk, const std::string& directory);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_EXPORT_H_
